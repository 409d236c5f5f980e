"""What pages tell about their GPU so that the engine assigns it to a class."""

ADAPTERS = {
    8: {"vendor": "intel", "architecture": "gen-12lp"},
    24: {"vendor": "amd", "architecture": "rdna-3"},
    64: {"vendor": "nvidia", "architecture": "ampere"},
    132: {"vendor": "nvidia", "architecture": "hopper"},
}
"""An adapter of each class, by the multiprocessors that schedules assume."""
