"""The plan: what the campaign will do, read from TOML and turned into an order."""

from preflight.plan.decoding import (
    decode_plan,
    load_plan,
    order_of,
    plan_schema,
    plan_to_builtins,
    resolve,
)
from preflight.plan.tables import Plan

__all__ = [
    "Plan",
    "decode_plan",
    "load_plan",
    "order_of",
    "plan_schema",
    "plan_to_builtins",
    "resolve",
]
