#!/usr/bin/env bash
# Shows on a machine with a real accelerator, and without a network, what fakes cannot show.
#
#   tests/device/run.sh
#
# It collects below $OUT what the vendor's tools and NVML say, raw, then what `preflight inspect` and
# `preflight run` make of it, and prints how each step ended. No setting of a card is changed, and
# nothing is installed but into a temporary folder. Variables:
#
#   OUT      folder to write to          (./device-out)
#   PYTHON   interpreter with torch      (python3)
#   WHEELS   folder of wheels, for what of preflight's dependencies PYTHON lacks (none)
#   LIMIT_S  seconds for all of it       (225; ten more are given to what has to be killed)
#   GPUS     cards that were bought      (1)
#   STAGES   stages of the second run    (order,driver,system,arch,import,kernel)
#
# Exit code: 0 when every step could be run, whatever it says of the machine; 1 when one could not;
# 2 when nothing could be started. The files name the machine: tests/device/redact.py makes a copy
# that can be shown.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(cd "$here/../.." && pwd)
PYTHON=${PYTHON:-python3}
LIMIT_S=${LIMIT_S:-225}
GPUS=${GPUS:-1}
STAGES=${STAGES:-order,driver,system,arch,import,kernel}
KILL_S=10
WORST=0
SECONDS=0

OUT=${OUT:-device-out}
mkdir -p "$OUT"
OUT=$(cd "$OUT" && pwd)
WHEELS=${WHEELS:+$(cd "$WHEELS" && pwd)}
PYTHON=$(command -v "$PYTHON") || {
  echo "run.sh: there is no python3; name an interpreter with PYTHON" >&2
  exit 2
}
PYTHON=$(cd "$(dirname "$PYTHON")" && pwd)/$(basename "$PYTHON")
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
: >"$OUT/summary.txt"

say() { echo "$*" | tee -a "$OUT/summary.txt"; }

left() { echo $((LIMIT_S - SECONDS)); }

# step NAME SECONDS CODES COMMAND...: run a command within its time and ours, keep what it prints in
# $OUT/NAME, and tell how it ended. An exit code that is not in CODES ("any": the command ran,
# whatever it answers) means that it could not be run.
step() {
  local name=$1 most=$2 codes=$3 code=0 since=$SECONDS word=ran
  shift 3
  if (($(left) < 3)); then
    WORST=1
    say "$(printf '%-22s not run: no time is left' "$name")"
    return
  fi
  ((most <= $(left))) || most=$(left)
  timeout -k "$KILL_S" "$most" "$@" >"$OUT/$name" 2>"$OUT/$name.err" </dev/null || code=$?
  [ -s "$OUT/$name.err" ] || rm -f "$OUT/$name.err"
  case $code in
    124 | 137) word="did not end within $most s" ;;
    126 | 127) word="could not be started" ;;
    *) [ "$codes" = any ] || [[ " $codes " == *" $code "* ]] || word="could not be run" ;;
  esac
  [ "$word" = ran ] || WORST=1
  say "$(printf '%-22s %s, exit code %d, %d s' "$name" "$word" "$code" $((SECONDS - since)))"
}

# Whether a command is there; a step for one that is not there would only say so.
has() { command -v "$1" >/dev/null; }

write_identity() {
  {
    echo "host $(uname -n)"
    echo "user $(id -un 2>/dev/null || id -u)"
    has hostname && for address in $(hostname -I 2>/dev/null); do echo "address $address"; done
  } >"$OUT/identity.txt" || true
}

# An environment of our own that sees what PYTHON has: preflight's workers look for packages where
# an interpreter keeps them, and not in PYTHONPATH. PYTHON itself stays as it is, and is what is
# tested.
make_environment() {
  "$PYTHON" -m venv --without-pip "$WORK/venv" || {
    echo "run.sh: $PYTHON cannot make a virtual environment" >&2
    exit 2
  }
  OURS=$WORK/venv/bin/python
  SITE=$("$OURS" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  "$PYTHON" - >"$SITE/of-python.pth" <<'PYTHON'
import site
folders = [*site.getsitepackages(), *([site.getusersitepackages()] * bool(site.ENABLE_USER_SITE))]
for folder in folders:
    print(f"import site; site.addsitedir({folder!r})")
PYTHON
}

# What of our dependencies is lacking, by the names of distributions.
missing() {
  "$OURS" -I - <<'PYTHON'
import importlib.util
needed = {
    "click": "click", "execnet": "execnet", "elftools": "pyelftools", "iniconfig": "iniconfig",
    "jinja2": "jinja2", "markdown_it": "markdown-it-py", "markupsafe": "markupsafe",
    "mdurl": "mdurl", "msgspec": "msgspec", "numpy": "numpy", "packaging": "packaging",
    "pluggy": "pluggy", "pygments": "pygments", "pynvml": "nvidia-ml-py", "pytest": "pytest",
    "rich": "rich", "torch": "torch", "xdist": "pytest-xdist",
}
print(*[name for module, name in needed.items() if importlib.util.find_spec(module) is None])
PYTHON
}

# Those of the names for which $WHEELS holds a wheel.
among_wheels() {
  local name stem
  for name in "$@"; do
    stem=${name//-/_}
    (shopt -s nullglob nocaseglob && [ -n "$(echo "$WHEELS/$stem"-*.whl)" ]) && echo "$name"
  done
  return 0
}

pip_install() {
  timeout -k "$KILL_S" 60 "$PYTHON" -m pip install --quiet --disable-pip-version-check \
    --no-index --no-deps --target "$SITE" "$@" >>"$OUT/install.txt" 2>&1
}

# shellcheck disable=SC2046,SC2086 # names of distributions hold no blanks
install_preflight() {
  local lacking found
  lacking=$(missing)
  if [ -n "$lacking" ] && [ -n "$WHEELS" ]; then
    found=$(among_wheels $lacking)
    if [ -n "$found" ]; then pip_install --find-links "$WHEELS" $found || true; fi
    lacking=$(missing)
  fi
  if [ -n "$lacking" ]; then
    say "missing in $PYTHON: $lacking${WHEELS:+ (nor in $WHEELS)}"
  fi
  if pip_install --no-build-isolation "$tree"; then
    say "preflight is installed from the tree"
  else
    echo "$tree" >"$SITE/preflight-tree.pth"
    say "preflight runs from the tree (install.txt says why it is not installed)"
  fi
}

collect_nvidia() {
  step nvidia-smi-q.txt 30 any nvidia-smi -q
  step nvidia-smi-q.xml 30 any nvidia-smi -q -x
  step nvidia-smi-topo.txt 20 any nvidia-smi topo -m
}

collect_amd() {
  has rocminfo && step rocminfo.txt 30 any rocminfo
  has rocm-smi && step rocm-smi.json 30 any rocm-smi --showallinfo --json
  has rocm-smi && step rocm-smi-topo.txt 20 any rocm-smi --showtopo
  has rocminfo || has rocm-smi || say "neither rocminfo nor rocm-smi is there"
}

find_accelerator() {
  if has nvidia-smi; then
    collect_nvidia
  elif [ -e /dev/nvidiactl ]; then
    say "an NVIDIA driver is there, and no nvidia-smi"
  elif [ -e /dev/kfd ]; then
    collect_amd
  else
    say "no accelerator: there is no nvidia-smi, no /dev/nvidiactl and no /dev/kfd"
    return
  fi
  if [ -e /dev/kfd ]; then return; fi
  step nvml.json 40 "0" "$OURS" "$here/record_nvml.py"
}

run_preflight() {
  local name=$1
  shift
  # preflight ends by itself before it would be killed, so that its record is whole.
  local deadline=$(($(left) - KILL_S))
  step "$name.txt" "$(left)" "0 1 3 143" "$OURS" -m preflight run --python "$PYTHON" \
    --plan "$OUT/plan.toml" --out "$OUT/runs" --order device-check --deadline "${deadline}s" "$@"
}

cd "$WORK"
write_identity
make_environment
install_preflight
cat >"$OUT/plan.toml" <<PLAN
[order]
gpus = $GPUS
PLAN
find_accelerator
step inspect.json 40 "0 3" "$OURS" -m preflight inspect --json
step inspect.txt 40 "0 3" "$OURS" -m preflight inspect
if (($(left) > 2 * KILL_S)); then
  run_preflight run-quick --level quick
else
  WORST=1
  say "run-quick: not run, no time is left"
fi
if (($(left) > 60)); then
  run_preflight run-standard --level standard --only "$STAGES"
else
  say "run-standard: not run, less than a minute is left"
fi
say "$SECONDS s in all; files are in $OUT"
exit "$WORST"
