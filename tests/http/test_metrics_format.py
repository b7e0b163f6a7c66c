"""What metrics.c writes is read by Prometheus' own parser, and reads back as what went in."""

import math

import pytest

parser = pytest.importorskip("prometheus_client.parser")


def families(demo, *words):
    status, headers, text = demo(*words).get("metrics")
    assert status == 200
    assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert headers["Cache-Control"] == "no-store"
    assert text.endswith("\n") and "\n\n" not in text
    return {family.name: family for family in parser.text_string_to_metric_families(text)}


def test_every_kind_of_metric_reads_back(demo):
    got = families(demo, "--changes", "8")
    assert {name: family.type for name, family in got.items()} == {
        "vtddl_changes": "gauge", "vtddl_looks": "counter", "vtddl_rpc_seconds": "histogram"}
    assert got["vtddl_changes"].documentation == "Open changes,\nby \\ phase."
    assert len(got["vtddl_changes"].samples) == 8
    assert [(s.name, s.labels, s.value) for s in got["vtddl_looks"].samples] == [("vtddl_looks_total", {}, 12345678901234.0)]
    buckets = [(s.labels["le"], s.value) for s in got["vtddl_rpc_seconds"].samples if s.name.endswith("_bucket")]
    assert buckets == [("0.005", 1), ("0.05", 1), ("0.5", 2), ("5", 2), ("+Inf", 3)]
    rest = {s.name: s.value for s in got["vtddl_rpc_seconds"].samples if not s.name.endswith("_bucket")}
    assert rest == {"vtddl_rpc_seconds_sum": 0.004 + 0.3 + 60, "vtddl_rpc_seconds_count": 3}


def test_hostile_labels_stay_labels(demo):
    samples = families(demo, "--changes", "2", "--hostile")["vtddl_changes"].samples
    assert len(samples) == 3
    assert samples[0].labels["keyspace"] == '<img src=x onerror="window.hacked=1">'
    assert samples[2].labels == {"keyspace": 'line\nend "quoted" back\\slash \\xff} 5', "phase": ""}
    assert samples[2].value == math.inf


def test_ten_thousand_changes_are_written(demo):
    assert len(families(demo, "--changes", "10000")["vtddl_changes"].samples) == 10000
