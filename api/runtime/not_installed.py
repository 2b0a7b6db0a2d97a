"""What the status tells of runtimes that are not part of this server (seed 003 section 4.6).

None of them can be configured here, so none ever had a pass: figures are null for everybody,
auditors too.
"""

from __future__ import annotations

from typing import Any

#: Members of `RuntimeStatus`; each says itself why nothing happens.
STATUS: dict[str, Any] = {
    "utility": {
        "configured": False,
        "automatic": False,
        "apply": False,
        "calibrated": False,
        "ranking": False,
        "running": False,
        "reason": "utility_runtime_not_installed",
    },
    "learning": {
        "compiled": False,
        "registered": False,
        "registration_enabled": False,
        "bindings_ready": False,
        "automatic_allowed": False,
        "running": False,
        "automation": {"trials": False, "reviews": False, "archive": False, "safety": False},
        "blocked_reasons": ["no_learning_controller"],
        "capacity": None,
        "last_pass": None,
    },
    "semantic_attention": {
        "configured": False,
        "automatic": False,
        "running": False,
        "pin": None,
        "reason": "semantic_evaluator_not_installed",
        "last_pass": None,
    },
    "trust": {
        "configured": False,
        "automatic": False,
        "apply": False,
        "automatic_apply": False,
        "calibrated": False,
        "governor_authorized": False,
        "running": False,
        "reason": "trust_runtime_not_installed",
    },
}
