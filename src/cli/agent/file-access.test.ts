import { expect, test } from "vitest";
import { fakeIo, runLine } from "../../../test/kits/fake-io.ts";
import type { AgentOptions } from "../../agent/node/agent.ts";

const files = {
  "/etc/passwd": "root:x:0:0:root:/root:/bin/sh\napp:x:1001:1002:App:/home/app:/bin/sh\n",
  "/etc/group": "root:x:0:\nweb:x:1003:app\n",
};

async function accessOf(...words: readonly string[]): Promise<AgentOptions["access"] | number> {
  let access: AgentOptions["access"];
  const runAgent = async (options: AgentOptions): Promise<void> => void (access = options.access);
  const code = await runLine(["agent", "--once", ...words], fakeIo({ files, runAgent }));
  return code === 0 ? access : code;
}

test.each([
  [[], undefined],
  [["--mode", "0640"], { mode: 0o640 }],
  [["--mode", "440"], { mode: 0o440 }],
  [["--owner", "app"], { mode: 0o600, owner: { uid: 1001, gid: 1002 } }],
  [["--owner", "app:web", "--mode", "0640"], { mode: 0o640, owner: { uid: 1001, gid: 1003 } }],
  [["--owner", "1001"], { mode: 0o600, owner: { uid: 1001, gid: 1002 } }],
  [["--owner", "5000:6000"], { mode: 0o600, owner: { uid: 5000, gid: 6000 } }],
])("%j says who may read", async (words, expected) => {
  expect(await accessOf(...words)).toEqual(expected);
});

test.each([
  ["--mode", "0644"],
  ["--mode", "0660"],
  ["--mode", "4600"],
  ["--mode", "-1"],
  ["--owner", "nobody-here"],
  ["--owner", "app:nobody-here"],
  ["--owner", "app:web:x"],
  ["--owner", "5000"],
  ["--owner", ":web"],
  ["--owner", ""],
])("%s %j is refused", async (name, value) => {
  expect(await accessOf(`${name}=${value}`)).toBe(2);
});
