import { expect, test } from "vitest";
import { firstReply } from "./parallel-posts.ts";

const bytes = (text: string): Buffer => Buffer.from(text);

test("a reply ends where its length says, and the next one follows", () => {
  const reply = "HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nhällo".replace("hällo", "h\u00e4lo");
  expect(firstReply(bytes(`${reply}HTTP/1.1 200 OK\r\n`))).toEqual({ text: "hälo", end: Buffer.byteLength(reply) });
});

test("a reply in chunks is put together", () => {
  const reply = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
  expect(firstReply(bytes(reply))).toEqual({ text: "abcde", end: reply.length });
});

test.each([
  "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n",
  "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcd",
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nd",
])("a reply that is not whole is waited for: %j", (reply) => {
  expect(firstReply(bytes(reply))).toBeUndefined();
});
