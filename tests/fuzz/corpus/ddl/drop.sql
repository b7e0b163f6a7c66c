-- why
# and
drop /* this */ table if exists `t` cascade -- done
; 