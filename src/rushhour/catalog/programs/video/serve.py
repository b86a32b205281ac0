"""Answers GET /BYTES with so many bytes; connections stay."""

import asyncio


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while request := await reader.readline():
        while (await reader.readline()).strip():
            pass
        size = int(request.split()[1].lstrip(b"/"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + bytes(size))
        await writer.drain()
    writer.close()


async def main() -> None:
    async with await asyncio.start_server(answer, "s1", 80) as server:
        await server.serve_forever()


asyncio.run(main())
