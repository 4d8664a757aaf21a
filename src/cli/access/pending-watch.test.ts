import { expect, test } from "vitest";
import { csrObject } from "../../../test/kits/csr-object.ts";
import { type MemoryApi, memoryApi } from "../../../test/kits/memory-api.ts";
import { type FakeClock, fakeClock, settled } from "../../../test/kits/fake-clock.ts";
import { type FakeIo, fakeIo, kubeconfigText, runLine } from "../../../test/kits/fake-io.ts";
import { connectionError } from "../../client/transport.ts";
import { ConnectionError } from "../../client/client.ts";
import { withCondition } from "../../controllers/certificates/csr-view.ts";
import { certificateSigningRequests as csrs } from "../../controllers/kinds.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { accessRequests } from "../../apis/access-request.ts";

interface World {
  readonly api: MemoryApi;
  readonly clock: FakeClock;
  readonly io: FakeIo;
  readonly ended: Promise<number>;
}

async function watching(line: string, ...there: readonly string[]): Promise<World> {
  const clock = fakeClock();
  const api = memoryApi({ clock });
  for (const name of there) await api.given(csrs, csrObject({ name }));
  const files = { "/home/ada/.kube/config": kubeconfigText() };
  const io = fakeIo({ clock, client: api.client, files });
  const ended = runLine(line, io);
  // The command is loaded from files first, which takes as long as it takes.
  while (io.err() === "") await settled();
  await settled();
  return { api, clock, io, ended };
}

/** Lets the changes so far be shown. */
async function shown({ clock }: World): Promise<void> {
  await clock.advance(500);
}

async function stop({ io, ended }: World): Promise<void> {
  io.interrupt();
  expect(await ended).toBe(0);
}

const waiting = "waiting for new and changed requests at https://hub.example:6443; Ctrl-C ends\n";

test("prints what waits, then what is new or has changed, and what waits no longer, until a signal", async () => {
  const here = await watching("pending --watch", "first");
  expect(
    here.io
      .out()
      .split("\n")
      .map((line) => line.trim().split(/ +/)[0]),
  ).toEqual(["NAME", "csr/first", ""]);
  expect(here.io.err()).toBe(waiting);
  const before = here.io.out().length;
  const second = await here.api.given(csrs, csrObject({ name: "second" }));
  await shown(here);
  const after = here.io.out().slice(before);
  expect(after).toMatch(/^ {3}csr\/second +0s .*\n$/);
  const approved = withCondition(second, { type: "Approved", status: "True", reason: "Test", message: "" });
  await here.api.client.update(csrs, approved, { subresource: "approval" });
  await shown(here);
  expect(here.io.out().slice(before + after.length)).toBe("csr/second is no longer pending\n");
  await stop(here);
});

test("says that nothing waits, and prints the headings with the first request", async () => {
  const here = await watching("pending -w");
  expect(here.io.out()).toBe("No request waits for a decision.\n");
  await here.api.given(csrs, csrObject({ name: "first" }));
  await shown(here);
  expect(here.io.out().split("\n")[1]).toMatch(/^ +NAME +AGE /);
  await stop(here);
});

test("with --watch-only passes over what waits already", async () => {
  const here = await watching("pending --watch-only", "first");
  expect(here.io.out()).toBe("");
  await here.api.given(csrs, csrObject({ name: "second" }));
  await shown(here);
  expect(here.io.out()).toContain("csr/second");
  expect(here.io.out()).not.toContain("csr/first");
  await stop(here);
});

test("as JSON it prints one document for each request that is new or has changed", async () => {
  const here = await watching("pending --watch -o json", "first");
  await here.api.given(csrs, csrObject({ name: "second" }));
  await shown(here);
  const documents = here.io
    .out()
    .split(/^(?=\{)/m)
    .map((text) => (JSON.parse(text) as { readonly name: string }).name);
  expect(documents).toEqual(["first", "second"]);
  await stop(here);
});

test("goes on after a lost connection, says so once, and shows what has changed meanwhile", async () => {
  const here = await watching("pending --watch", "first");
  const refused = Object.assign(new TypeError("connect ECONNREFUSED 192.0.2.1:6443"), { code: "ECONNREFUSED" });
  const lost = connectionError(refused, "https://hub.example:6443");
  await here.api.given(csrs, csrObject({ name: "second" }));
  here.api.failNext("list", csrs, lost);
  here.api.failNext("list", csrs, lost);
  here.api.breakWatches(lost);
  await here.clock.advance(60_000);
  expect(here.io.out()).toContain("csr/second");
  const [, trouble = "", again, ...more] = here.io.err().split("\n");
  expect(trouble).toMatch(
    /^no connection to https:\/\/hub\.example:6443, trying again: nothing listens at https:\/\/hub\.example:6443: check that the server runs/,
  );
  expect([again, more]).toEqual(["connected to https://hub.example:6443 again", [""]]);
  await stop(here);
});

test("goes on from a new list where the history is gone, and where a server ends its streams", async () => {
  const here = await watching("pending --watch");
  here.api.compact();
  here.api.breakWatches();
  await here.api.given(csrs, csrObject({ name: "first" }));
  await here.clock.advance(5000);
  expect(here.io.out()).toContain("csr/first");
  await stop(here);
});

test("ends with the refusal where nothing may be seen, and with what is wrong at the first look", async () => {
  const clock = fakeClock();
  const api = memoryApi({ clock });
  const files = { "/home/ada/.kube/config": kubeconfigText() };
  const refused = fakeIo({ clock, client: api.client, files });
  for (const kind of [csrs, accessRequests])
    api.failNext("list", kind, new StatusError("Forbidden", `no ${kind.plural}`));
  expect(await runLine("pending --watch", refused)).toBe(4);
  expect(refused.err()).toContain("error: no certificatesigningrequests");
  api.failNext("list", csrs, new ConnectionError("ECONNREFUSED", "nobody there"));
  expect(await runLine("pending --watch", fakeIo({ clock, client: api.client, files }))).toBe(3);
});
