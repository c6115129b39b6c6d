"""The command ``preflight``. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from preflight import __version__

if TYPE_CHECKING:
    from preflight.engine import Outcome

FORMATS = ("html", "text", "markdown", "junit", "ctrf", "json", "constraints")


class Program(click.Group):
    """Turns our errors into a message and their exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error of ours never shows a traceback."""
        from preflight.errors import PreflightError

        try:
            return super().invoke(ctx)
        except PreflightError as error:
            click.echo(f"preflight: {error}", err=True)
            ctx.exit(error.exit_code)


@click.group(
    cls=Program,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="preflight")
def program() -> None:
    """Ordered checks of a GPU machine through your own torch, and a report tied to the order.

    On a rented machine: preflight run --order ORD-1042 --plan plan.toml. Without a card:
    preflight run --device cpu, and preflight audit --gpu B200.

    Exit codes: 0 READY or REHEARSED, 1 NOT READY, 2 a flag or plan that cannot be used, 3
    INCONCLUSIVE, 4 a fault of preflight, 130 or 143 interrupted.
    """


@program.command()
@click.option("--order", metavar="REF", help="The seller's reference of what was bought.")
@click.option("--plan", "plan_path", metavar="FILE", help="What was bought and will be run (TOML).")
@click.option(
    "--level",
    type=click.Choice(["quick", "standard", "soak"]),
    default="standard",
    show_default=True,
    help="How much of each stage.",
)
@click.option(
    "--device",
    "accelerator",
    type=click.Choice(["auto", "cuda", "hip", "cpu"]),
    default="auto",
    show_default=True,
    help="What to look for; cpu rehearses without a card.",
)
@click.option(
    "--simulate",
    metavar="PROFILE",
    help="Judge a machine that is not there, such as 2xB200 or 8xH100:ecc-2; preflight list "
    "--profiles.",
)
@click.option("--gpus", type=int, metavar="N", help="Ranks of a rehearsal.  [default: 2]")
@click.option(
    "--python",
    metavar="PATH",
    help="Interpreter or environment under test.  [default: the one that runs preflight]",
)
@click.option("--only", metavar="STAGE,...", help="Run these stages only.")
@click.option("--skip", metavar="STAGE,...", help="Run all stages but these.")
@click.option(
    "--checks", multiple=True, metavar="DIR", help="Add your own checks; may be given again."
)
@click.option(
    "--out",
    metavar="DIR",
    help="Where reports go.  [default: PREFLIGHT_REPORTS, or ./preflight-reports]",
)
@click.option("--strict", is_flag=True, help="Exit 1 on READY WITH WARNINGS.")
@click.option(
    "--deadline", metavar="TIME", help="Bound of the whole run.  [default: quick 2m, standard 15m]"
)
@click.option("--check-deadline", metavar="TIME", help="No check runs longer than this.")
@click.option(
    "--inject",
    multiple=True,
    metavar="STAGE[:PLACE]=FAULT",
    help="Break something on purpose, to try your gate; preflight list --faults.",
)
@click.option("--json", "as_json", is_flag=True, help="Write the record to standard output.")
@click.pass_context
def run(ctx: click.Context, /, as_json: bool, **flags: Any) -> None:
    """Run the path and leave a record and a report."""
    from preflight import engine
    from preflight.progress import Progress
    from preflight.request import build_request
    from preflight.terminal import open_terminal

    request = build_request(argv=["preflight", *sys.argv[1:]], **flags)
    with Progress(open_terminal(errors=True)) as progress:
        outcome = engine.run(request, progress.watch)
    written = _show(outcome, as_json)
    ctx.exit(outcome.exit_code if written or not as_json else 4)


def _show(outcome: Outcome, as_json: bool) -> bool:
    """Print summary and record; whether they could be printed.

    The run has its exit code whoever reads: a pipe that ends early is no word on the machine.
    """
    from preflight.records import encode_record
    from preflight.summary import print_summary
    from preflight.terminal import open_terminal

    report = str(outcome.report or "")
    trouble = str(outcome.trouble or "")
    try:
        print_summary(outcome.record, report, open_terminal(errors=as_json), trouble)
        if as_json:
            click.echo(encode_record(outcome.record).decode(), nl=False)
        sys.stdout.flush()
    except OSError:
        _replace_stream(1)
        return False
    return True


@program.command()
@click.option(
    "--device",
    "accelerator",
    type=click.Choice(["auto", "cuda", "hip", "cpu"]),
    default="auto",
    show_default=True,
    help="What to look for; cpu leaves the drivers alone.",
)
@click.option(
    "--simulate", metavar="PROFILE", help="Show a machine that is not there, such as 2xB200."
)
@click.option("--json", "as_json", is_flag=True, help="Write the facts to standard output as JSON.")
@click.pass_context
def inspect(ctx: click.Context, accelerator: str, simulate: str | None, as_json: bool) -> None:
    """Show what this machine is: host, driver, cards, links, network.

    Nothing is judged, torch is not touched, and no file is written. Exit codes: 0 looked, 2 a flag
    that cannot be used, 3 the driver did not answer.
    """
    from preflight.inspection import inspect_machine
    from preflight.terminal import open_terminal

    inspection = inspect_machine(accelerator, simulate=simulate)
    if as_json:
        click.echo(inspection.json, nl=False)
    else:
        inspection.print_to(open_terminal(errors=False))
    for word in filter(None, (inspection.notice if as_json else "", inspection.trouble)):
        click.echo(f"preflight: {word}", err=True)
    ctx.exit(inspection.exit_code)


@program.command()
@click.argument("source", metavar="[FILE|-]", default="-")
@click.option(
    "--gpu", metavar="NAME", help="The card that it is about, where the text does not say."
)
@click.option("--json", "as_json", is_flag=True, help="Write the answer as JSON.")
@click.pass_context
def explain(ctx: click.Context, source: str, gpu: str | None, as_json: bool) -> None:
    """Say what a pasted text proves, stage by stage, and the first cause in it.

    Reads collect_env of torch, vLLM and SGLang, nvidia-smi, rocm-smi, rocminfo, logs of NCCL and
    RCCL, the kernel's log, tracebacks, and several of them in one paste. Nothing of this machine is
    looked at.

    Exit codes: 0 nothing wrong was found, 1 a failure is proved, 2 a file or flag that cannot be
    used, 3 nothing can be told from the text.
    """
    from preflight.explanation import explain as explain_source
    from preflight.terminal import open_terminal

    explanation = explain_source(source, gpu=gpu)
    if as_json:
        click.echo(explanation.json, nl=False)
    else:
        explanation.print_to(open_terminal(errors=False))
    if explanation.trouble:
        click.echo(f"preflight: {explanation.trouble}", err=True)
    ctx.exit(explanation.exit_code)


@program.command("list")
@click.option("--checks", multiple=True, metavar="DIR", help="Add your own checks.")
@click.option("--faults", is_flag=True, help="Show the faults that run --inject knows instead.")
@click.option("--profiles", is_flag=True, help="Show the machines that --simulate knows instead.")
def list_(checks: tuple[str, ...], faults: bool, profiles: bool) -> None:
    """Show stages and checks in order, what each proves and what it gates."""
    if profiles:
        from preflight.hardware.profiles import profile_table

        click.echo(profile_table(), nl=False)
        return
    if faults:
        from preflight.injection import fault_table

        click.echo(fault_table(), nl=False)
        return
    from preflight.folders import checks_folder
    from preflight.harness.listing import list_checks
    from preflight.path_table import path_table
    from preflight.request import own_checks_folders

    folders = [checks_folder(), *map(Path, own_checks_folders(checks))]
    click.echo(path_table(list_checks(folders)), nl=False)


@program.command()
@click.option(
    "--python", metavar="PATH", help="Interpreter or environment to look at.  [default: this one]"
)
@click.option(
    "--site", metavar="DIR", help="Folder of packages; with --image-root, one of the image."
)
@click.option(
    "--wheel", "is_wheel", is_flag=True, help="Look into the wheels that are named at the end."
)
@click.option("--image-root", metavar="DIR", help="Unpacked image.")
@click.option("--gpu", multiple=True, metavar="NAME,...", help="For these GPUs, such as B200.")
@click.option("--arch", multiple=True, metavar="ARCH,...", help="For these, such as sm_100.")
@click.option("--driver", metavar="VERSION", help="NVIDIA driver of the machine that is meant.")
@click.option("--package", multiple=True, metavar="NAME,...", help="Only these packages.")
@click.option("--json", "as_json", is_flag=True, help="Write the audit as JSON.")
@click.argument("wheels", nargs=-1, metavar="[FILE]...")
@click.pass_context
def audit(ctx: click.Context, /, python: str | None, as_json: bool, **flags: Any) -> None:
    """Tell which GPUs run the device code of an environment, without a GPU.

    Nothing of the environment is imported or loaded. Without --gpu and --arch the answer is for
    the cards of this machine; where there are none, it is for all GPUs that preflight knows, and
    code that is missing for one of them is no failure.

    Exit codes: 0 fine or warnings, 1 a failure, 2 a flag that cannot be used, 3 a file that
    could not be read.
    """
    from preflight.auditing.command import run_audit
    from preflight.rendering import audit_json, audit_text

    if python is not None:
        from preflight.request import find_python

        python = find_python(python)
    found = run_audit(python=python, **flags)
    click.echo((audit_json if as_json else audit_text).render(found), nl=False)
    ctx.exit(found.exit_code)


@program.command()
@click.argument("source", metavar="RUN_DIR|RECORD")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option("-o", "--output", metavar="FILE", default="-", help="Write here instead of stdout.")
def report(source: str, form: str, output: str) -> None:
    """Render a record; for the folder of a run that was killed, make its record first."""
    from preflight.errors import OutputError, UsageError
    from preflight.outputs import write_file
    from preflight.reading import read_source
    from preflight.rendering.protocol import renderer

    record, note = read_source(Path(source))
    if note:
        click.echo(f"preflight: {note}", err=True)
    text = renderer(form)(record)
    if output == "-":
        click.echo(text, nl=not text.endswith("\n"))
        return
    try:
        write_file(Path(output).absolute(), text.encode())
    except OutputError as error:
        what = f"{output} {error.what}"
        raise UsageError(what, where="-o", mend="name another file, or free space there") from error


@program.command()
@click.option("-o", "--output", metavar="FILE", default="plan.toml", show_default=True)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@click.option("--python", metavar="PATH", help="Interpreter or environment under test.")
def init(output: str, force: bool, python: str | None) -> None:
    """Write a commented plan from what is found on this machine."""
    from preflight.first_plan import write_first_plan
    from preflight.request import find_python

    place = write_first_plan(Path(output), force=force, python=find_python(python))
    click.echo(
        f"{place} is written: correct it to what was bought, then\n  preflight run --plan {place}",
        err=True,
    )


@program.command()
@click.argument("what", type=click.Choice(["record", "plan"]), default="record")
def schema(what: str) -> None:
    """Print the JSON Schema of the record or of the plan."""
    from preflight.schemas import schema_text

    click.echo(schema_text(what), nl=False)


@program.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script: eval "$(preflight completion bash)"."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None, "click completes these three"
    click.echo(kind(program, {}, "preflight", "_PREFLIGHT_COMPLETE").source())


def _replace_stream(number: int) -> None:
    """Put /dev/null in the place of standard input, output or error."""
    null = os.open(os.devnull, os.O_RDWR)
    if null != number:
        os.dup2(null, number)
        os.close(null)


def _open_streams() -> None:
    """Give /dev/null to a standard stream that is closed, before another file takes its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            _replace_stream(number)
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("r" if number == 0 else "w"))  # noqa: SIM115


def main() -> None:
    """Entry point; an unexpected error is ours: exit code 4, with what to send us."""
    _open_streams()
    try:
        code = program(prog_name="preflight", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        code = 128 + signal.SIGINT
    except BrokenPipeError:
        _replace_stream(1)
        code = 128 + signal.SIGPIPE
    except Exception:  # noqa: BLE001 - the last resort of the program
        import traceback

        trace = traceback.format_exc()
        click.echo(
            f"{trace}\npreflight {__version__}: this is a fault of preflight. Please send us the "
            "lines above with the command line that led to them.",
            err=True,
        )
        code = 4
    sys.exit(code if isinstance(code, int) else 0)
