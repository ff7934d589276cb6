"""Values of OPC UA nodes as lines of JSON, every second: opcua_lines.py opc.tcp://HOST:4840 NODE NODE ..."""

import asyncio
import json
import sys
from datetime import UTC, datetime

from asyncua import Client


async def main(address, names, seconds=1.0):
    async with Client(address) as client:
        nodes = [client.get_node(name) for name in names]
        while True:
            values = await client.read_values(nodes)
            row = dict(zip(names, values, strict=True))
            print(json.dumps({"time": datetime.now(UTC).isoformat(), **row}), flush=True)
            await asyncio.sleep(seconds)


asyncio.run(main(sys.argv[1], sys.argv[2:]))
