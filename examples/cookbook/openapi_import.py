"""Tools from an OpenAPI document: the operations you choose, with the credentials of the API.

PETS_URL is the address of the API, PETS_TOKEN its token.
"""

import os

import httpx

from dovetail import Server
from dovetail_openapi import Rule

# A real document is a file or comes from the API: Server.from_openapi(Path("pets.yaml"), ...)
PETS = """
openapi: 3.1.0
info: {title: pets, version: "1"}
paths:
  /pets:
    get:
      operationId: list_pets
      summary: List the pets
      parameters:
        - {name: kind, in: query, schema: {type: string, enum: [cat, dog]}}
      responses:
        "200":
          description: The pets
          content:
            application/json:
              schema: {type: object, properties: {names: {type: array, items: {type: string}}}}
    delete:
      operationId: delete_pets
      summary: Delete all pets
      responses: {"204": {description: Deleted}}
  /pets/{name}:
    get:
      operationId: get_pet
      summary: Find a pet
      security: [{token: []}]
      parameters:
        - {name: name, in: path, required: true, schema: {type: string}}
      responses:
        "200":
          description: The pet
          content:
            application/json:
              schema: {type: object, properties: {kind: {type: string}}}
components:
  securitySchemes: {token: {type: http, scheme: bearer}}
"""

server = Server.from_openapi(
    PETS,
    client=httpx.AsyncClient(base_url=os.environ.get("PETS_URL", "http://127.0.0.1:9000")),
    credentials={"token": os.environ.get("PETS_TOKEN", "none")},
    rules=[
        # The first rule that matches decides. Everything that is left becomes a tool.
        Rule(to="exclude", methods=["DELETE"]),
    ],
    timeout=10,
)


@server.prompt
def introduce(name: str) -> str:
    """Introduce a pet. A server from a document takes handlers like any other."""
    return f"Look up the pet {name} and introduce it in one sentence."


if __name__ == "__main__":
    server.run()
