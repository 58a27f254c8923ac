"""Proofs of bound tokens are used once, whichever process gets them."""

from __future__ import annotations

from collections.abc import Coroutine

from cryptography.hazmat.primitives.asymmetric import ec

from dovetail import Options, Server
from dovetail.auth import Guard, OAuth
from dovetail.auth.credentials import Credentials, Found
from dovetail.core.principal import Principal
from dovetail.oauth.dpop import BoundToken
from dovetail.runtime.auth_backend import AuthRejection
from tests.cluster.shop import STATE_KEY
from tests.unit.fakes import drive
from tests.unit.oauth.test_dpop import EC, TOKEN, URL, sign, thumbprint_of

KEY = ec.generate_private_key(ec.SECP256R1())


class Issued(OAuth):
    """Knows the token without its issuer."""

    def _find(self, token: bytes) -> Found:
        thumbprint = thumbprint_of(sign(KEY, "ES256", EC))
        return Principal("ada", claims={"cnf": {"jkt": thumbprint}})


def make_server(url: str, oauth: OAuth) -> Server:
    options = Options(state=url, state_keys=[STATE_KEY])
    server = Server("shop", options=options)
    server.http_app(guard=Guard(oauth))
    return server


async def use(proof: bytes, oauth: OAuth) -> Found:
    bound = BoundToken(TOKEN.encode(), proof, "POST", "/mcp")
    found = oauth.authenticate(Credentials(None, {}, bound))
    return await found if isinstance(found, Coroutine) else found


def test_a_proof_that_one_process_has_seen_is_refused_by_another(cluster_url: str) -> None:
    async def run() -> None:
        both = [Issued("https://id.example", URL, dpop=True) for _ in range(2)]
        servers = [make_server(cluster_url, oauth) for oauth in both]
        for server in servers:
            await server.start()
        proof = sign(KEY, "ES256", EC)
        assert isinstance(await use(proof, both[0]), Principal)
        refused = await use(proof, both[1])
        assert isinstance(refused, AuthRejection) and refused.status == 401
        assert refused.text.endswith("it was used before")
        for server in servers:
            await server.close()

    drive(run())


def test_without_redis_no_proof_is_accepted() -> None:
    async def run() -> None:
        oauth = Issued("https://id.example", URL, dpop=True)
        server = make_server("redis://127.0.0.1:1/0", oauth)
        await server.start()
        refused = await use(sign(KEY, "ES256", EC), oauth)
        assert isinstance(refused, AuthRejection) and refused.status == 503
        await server.close()

    drive(run())
