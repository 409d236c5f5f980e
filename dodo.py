"""The DAG of the models in models/. A dodo.py of one's own needs no more than this."""

from webkiln.build.tasks import DOIT_CONFIG, tasks

__all__ = ["DOIT_CONFIG", "task_models"]


def task_models():
    return tasks("models")
