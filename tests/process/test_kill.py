"""kill -9 of the real program at every point that the build for it numbers, over the real wire and the real store.

tests/crash does this in virtual time, with every pair of points; here it is the process, the file and the socket
that must hold. After each death the same command is run again and must end as if nothing had happened.
"""

from harness import ALTER, CREATE, Sim, Vtddl, assert_done_once, side_by_side

def passed_points(count_file):
    lines = count_file.read_text(encoding="utf-8").splitlines()
    return int(lines[0]), {name: int(count) for name, count in (line.split() for line in lines[1:])}


def one_life_and_another(folder, program, statement, at, **expect):
    """Dies at a point, runs again. Gives False where the point was never passed."""
    sim = Sim(folder / "sim", scale=100).start()
    try:
        vtddl = Vtddl(folder / "home", sim.address, program)
        first = vtddl.run("run", "commerce", "--sql", statement, env={"VTDDL_CRASH_AT": at})
        assert first.returncode in (0, 137), first.stderr
        if first.returncode == 137:
            again = vtddl.run("run", "commerce", "--sql", statement)
            assert again.returncode == 0, f"{again.returncode}\n{again.stdout}{again.stderr}"
        assert_done_once(sim, vtddl, **expect)
        return first.returncode == 137
    finally:
        sim.stop()


def die_everywhere(folder, program, statement, **expect):
    sim = Sim(folder / "sim", scale=100).start()
    counted = Vtddl(folder / "counted", sim.address, program)
    got = counted.run("run", "commerce", "--sql", statement, env={"VTDDL_CRASH_COUNT": str(folder / "count")})
    sim.stop()
    assert got.returncode == 0, got.stderr
    total, by_name = passed_points(folder / "count")
    assert total > 60
    # How often the fleet is looked at shifts a little from run to run, and with it the numbers; writes and effects
    # do not. So those are named as well, and only of the last numbers some may not be there.
    numbers = [f"#{n}" for n in range(1, total + 10)]
    steady = ("store-insert", "store-update", "effect-")
    named = [f"{name}:{nth}" for name, count in by_name.items() if count
             for nth in (range(1, count + 1) if name.startswith(steady) else (1,))]
    places = numbers + named
    died = side_by_side({at: at for at in places}, lambda _, at: one_life_and_another(
        folder / at.strip("#").replace(":", "-"), program, statement, at, **expect))
    print(f"{statement}: {sum(died.values())} deaths at {len(places)} boundaries")
    missed = [at for at in numbers[:total * 8 // 10] + named if not died[at]]
    assert missed == [], "these points were not reached again"
    return by_name


def test_an_alter_killed_at_every_point_is_applied_once_and_verified(tmp_path, crash_program):
    by_name = die_everywhere(tmp_path, crash_program, ALTER)
    for name in ("store-insert-after", "effect-start-before", "effect-start-after", "effect-reply"):
        assert by_name[name] > 0


def test_a_create_killed_at_every_point_is_applied_once_and_verified(tmp_path, crash_program):
    die_everywhere(tmp_path, crash_program, CREATE, table="notes", fragment="`note`")
