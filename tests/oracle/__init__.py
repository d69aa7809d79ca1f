"""What `follow` must give for a recorded folder, derived from the server's own view of it (`expected/`).

A second, independent derivation: nothing here imports the package under test, decodes a mutation or follows its design
of the code. It reads sidecars, link counts and sync markers to know which lines count, follows the definitions that the
server's `system_schema` lines give, and turns each line into change rows.
"""

from tests.oracle.recording import Recording, recording
from tests.oracle.view import Expected, Row, expected

__all__ = ["Expected", "Recording", "Row", "expected", "recording"]
