"""`lbr keys generate` makes a pair that seals and opens, and never replaces one."""

from __future__ import annotations

import json
import stat
from pathlib import Path

from lbr_runner import Lbr

from core.sealing import PlatformKey, PublicKey


def test_the_pair_seals_and_opens(lbr: Lbr, tmp_path: Path) -> None:
    """The private half is readable by its owner alone."""
    result = lbr("keys", "generate", "--dir", str(tmp_path / "keys"), "-o", "json")
    pair = json.loads(result.stdout)
    private = Path(pair["private_file"])
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    public = PublicKey.from_text(Path(pair["public_file"]).read_text())
    sealed = public.seal("secret", "acme", "credential", "x", "1")
    assert PlatformKey.from_pem(private.read_bytes()).open(sealed, "acme", "credential", "x") == "secret"
    assert pair["key_id"] == sealed.key_id
    assert "PRIVATE" not in result.stdout + result.stderr


def test_an_existing_pair_stays(lbr: Lbr, tmp_path: Path) -> None:
    """Exit code 5: secrets sealed to a lost key cannot be opened again."""
    assert lbr("keys", "generate", "--dir", str(tmp_path)).code == 0
    before = (tmp_path / "platform-key.pem").read_bytes()
    result = lbr("keys", "generate", "--dir", str(tmp_path))
    assert result.code == 5
    assert "is not replaced" in result.stderr
    assert (tmp_path / "platform-key.pem").read_bytes() == before
