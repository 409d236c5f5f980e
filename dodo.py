"""doit tasks for the recipes in models/. Another project's dodo.py looks the same."""

from webkiln.build.tasks import DOIT_CONFIG, tasks

__all__ = ["DOIT_CONFIG", "task_models"]


def task_models():
    return tasks("models")
