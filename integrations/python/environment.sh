# The virtual environment of the scripts beside it, which is made if there is none. PYTHON says of which interpreter.
integrations=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$integrations/target}"
export VIRTUAL_ENV="$integrations/target/python-venv"
if [ ! -x "$VIRTUAL_ENV/bin/python" ]; then
    "${PYTHON:-python3}" -m venv "$VIRTUAL_ENV"
fi
export PATH="$VIRTUAL_ENV/bin:$PATH"
