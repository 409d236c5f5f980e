"""The neutral pipeline: passes in the order they run."""

PASSES: tuple[str, ...] = ("identities",)
