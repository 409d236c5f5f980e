PASSES: tuple[str, ...] = ("drop_noop", "sort_nothing")
