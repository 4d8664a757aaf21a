import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Client } from "../../client/client.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { conflict, staleObject, StatusError } from "../../apimachinery/status.ts";
import { createCa } from "../../pki/ca.ts";
import { generatePrivateKey } from "../../pki/keys.ts";
import { accessProfiles, type AccessProfile } from "../../apis/access-profile.ts";
import { accessRequests, type AccessRequest } from "../../apis/access-request.ts";
import { accessObject, accessProfile, newAccessKey, type AskedAccess } from "../../../test/kits/access-object.ts";
import { type MemoryApi, memoryApi } from "../../../test/kits/memory-api.ts";
import { fakeClock } from "../../../test/kits/fake-clock.ts";
import { type FakeIo, fakeIo, kubeconfigText, runLine } from "../../../test/kits/fake-io.ts";
import { approverWords } from "./access-decide.ts";

const ca = newCa("hub");
const otherCa = newCa("between");

function newCa(commonName: string): string {
  const now = Date.UTC(2026, 10, 21);
  return createCa({ commonName, key: generatePrivateKey(), now, years: 1, random: randomBytes }).pem;
}

interface World {
  readonly api: MemoryApi;
  readonly io: FakeIo;
  stored(name: string): AccessRequest;
  words(name: string, caPem?: string): Promise<string>;
}

interface Given {
  readonly caPem?: string;
  readonly client?: (client: Client) => Partial<Client>;
  readonly approvers?: number;
}

async function world(
  requests: readonly AskedAccess[],
  { caPem = ca, client, approvers = 1 }: Given = {},
): Promise<World> {
  const clock = fakeClock();
  const api = memoryApi({ clock });
  for (const request of requests) await api.given(accessRequests, accessObject(request));
  await api.client.create(accessProfiles, accessProfile("pods", { approvers }));
  const files = { "/home/ada/.kube/config": kubeconfigText("https://hub.example:6443", caPem) };
  const stored = (name: string): AccessRequest =>
    api.all(accessRequests).find(({ metadata }) => metadata.name === name) as AccessRequest;
  return {
    api,
    // What an approval waits shortly passes at once.
    io: fakeIo({
      clock: { ...clock, sleep: (ms, signal) => (ms < 1000 ? Promise.resolve() : clock.sleep(ms, signal)) },
      client: { ...api.client, ...client?.(api.client) },
      files,
    }),
    stored,
    words: async (name, pem = ca) => (await approverWords(stored(name), { caPem: pem }))[0]?.join(" ") ?? "",
  };
}

describe("pratique approve accessrequest/NAME --words", () => {
  test("approves where the words are those of this key, CA and request, however they are typed", async () => {
    for (const type of [
      (words: string) => words,
      (words: string) => ` ${words.toUpperCase().replaceAll(" ", " - ")}.`,
    ]) {
      const here = await world([{ name: "vm-1" }]);
      const line = ["approve", "accessrequest/vm-1", "--words", type(await here.words("vm-1"))];
      expect(await runLine(line, here.io)).toBe(0);
      expect(here.io.err()).toBe("");
      expect(here.io.out()).toBe(
        "accessrequest/vm-1 approved\nThe words agree: machine and approver see the same key, CA and request.\n",
      );
      expect(here.stored("vm-1").status).toMatchObject({ accepted: true, wordsCompared: true });
    }
  });

  test.each([
    ["of another CA, which the machine was shown", async (here: World) => here.words("vm-1", otherCa)],
    ["of another request", async (here: World) => here.words("vm-2")],
  ])("refuses words %s, says what that may mean, and writes nothing", async (_title, words) => {
    const here = await world([{ name: "vm-1" }, { name: "vm-2" }]);
    const before = here.api.writes.length;
    expect(await runLine(["approve", "areq/vm-1", "--words", await words(here)], here.io)).toBe(4);
    expect(here.io.err()).toContain("error: these are not the words of accessrequest/vm-1; it was not approved\n");
    expect(here.io.err()).toContain("the connection between the machine and the hub may be intercepted");
    expect(here.io.err()).toContain('pratique deny accessrequest/vm-1 --reason "the words differ"');
    expect(here.io.err()).not.toContain(await here.words("vm-1"));
    expect(here.api.writes).toHaveLength(before);
  });

  test("tells one word that was misheard from somebody between, and approves nothing either", async () => {
    const here = await world([{ name: "vm-1" }]);
    const [, ...rest] = (await here.words("vm-1")).split(" ");
    expect(await runLine(["approve", "areq/vm-1", "--words", ["zzz", ...rest].join(" ")], here.io)).toBe(4);
    expect(here.io.err()).toContain("All but word 1 agree: have them read again, and type them again.\n");
    expect(here.io.err()).not.toContain("may be intercepted");
    expect(here.stored("vm-1").status?.accepted).toBeUndefined();
  });

  test.each(["", " ", "one", "one two three four five six seven"])("refuses %j", async (words) => {
    const here = await world([{ name: "vm-1" }]);
    expect(await runLine(["approve", "areq/vm-1", `--words=${words}`], here.io)).toBe(4);
    expect(here.stored("vm-1").status?.accepted).toBeUndefined();
  });

  test("cannot be used where the kubeconfig names no CA", async () => {
    const here = await world([{ name: "vm-1" }], { caPem: "" });
    expect(await runLine(["approve", "areq/vm-1", "--words", "a b c d e f"], here.io)).toBe(2);
    expect(here.io.err()).toContain("cannot be computed: the kubeconfig names no CA");
    expect(here.stored("vm-1").status?.accepted).toBeUndefined();
  });

  test("compares with each CA of a kubeconfig that has several", async () => {
    const here = await world([{ name: "vm-1" }], { caPem: `${otherCa}${ca}` });
    expect(await runLine(["approve", "areq/vm-1", "--words", await here.words("vm-1")], here.io)).toBe(0);
  });

  test("still compares when the request is approved already", async () => {
    const here = await world([{ name: "vm-1", status: { accepted: true } }]);
    expect(await runLine(["approve", "areq/vm-1", "--words", await here.words("vm-1", otherCa)], here.io)).toBe(4);
    expect(here.io.err()).toContain("pratique revoke accessrequest/vm-1");
  });
});

describe("pratique approve accessrequest/NAME", () => {
  test("without words approves, says so and prints those to compare", async () => {
    const here = await world([{ name: "vm-1" }]);
    expect(await runLine(["approve", "accessrequests/vm-1", "--reason", "known to me"], here.io)).toBe(0);
    expect(here.io.out()).toBe("accessrequest/vm-1 approved\n");
    expect(here.io.err()).toBe(
      `note: accessrequest/vm-1 was approved without comparing words. The machine must show: "${await here.words("vm-1")}"\n` +
        "      If it shows others, the connection is intercepted: pratique revoke accessrequest/vm-1\n",
    );
    expect(here.stored("vm-1").status).toMatchObject({ accepted: true, reason: "known to me" });
    expect(here.stored("vm-1").status?.wordsCompared).toBeUndefined();
  });

  test("says how many are still missing where the profile wants several people", async () => {
    const here = await world([{ name: "vm-1" }], {
      approvers: 3,
      client: (client) => ({
        patch: async <T extends ApiObject>(): Promise<T> => {
          const request = await client.get<AccessRequest>(accessRequests, { name: "vm-1" });
          const { metadata } = await client.get<AccessProfile>(accessProfiles, { name: "pods" });
          const profile = { name: "pods", uid: metadata.uid, generation: metadata.generation };
          const decisions = [{ user: "ada", time: "2026-11-21T00:00:00Z", verdict: "Approved", profile }];
          return { ...request, status: { ...request.status, decisions } } as ApiObject as T;
        },
      }),
    });
    expect(await runLine("approve areq/vm-1", here.io)).toBe(0);
    expect(here.io.out()).toBe(
      "accessrequest/vm-1 approved by you, 1 of 3: 2 other approvers must approve it as well\n",
    );
  });

  test("warns, escaped, of what needs care", async () => {
    const here = await world([{ name: "vm-1", profile: "no\u001b[2J", evidence: { possession: "Unproven" } }]);
    expect(await runLine("approve areq/vm-1", here.io)).toBe(0);
    expect(here.io.err()).toContain("warning: accessrequest/vm-1 has not proven that it holds the private key");
    expect(here.io.err()).toContain('asks for profile "no\\u{1b}[2J", which does not exist');
  });

  test("tells what the API objects to as a conflict", async () => {
    const here = await world([{ name: "vm-1" }]);
    here.api.failNext(
      "patch",
      accessRequests,
      new StatusError("Invalid", "a requester cannot decide on its own request"),
    );
    expect(await runLine("approve areq/vm-1", here.io)).toBe(7);
    expect(here.io.err()).toContain("error: a requester cannot decide on its own request\n");
  });

  test("looks again when the request was changed meanwhile, and gives up after ten times", async () => {
    const here = await world([{ name: "vm-1" }]);
    const stale = conflict(accessRequests, "vm-1", staleObject);
    for (let times = 0; times < 9; times += 1) here.api.failNext("patch", accessRequests, stale);
    expect(await runLine("approve areq/vm-1", here.io)).toBe(0);
    const there = await world([{ name: "vm-1" }]);
    for (let times = 0; times < 10; times += 1) there.api.failNext("patch", accessRequests, stale);
    expect(await runLine("approve areq/vm-1", there.io)).toBe(7);
    expect(there.stored("vm-1").status?.accepted).toBeUndefined();
  });

  test("takes the uid of another object for a change, as the hub tells it", async () => {
    const here = await world([{ name: "vm-1" }]);
    const details = { causes: [{ reason: "FieldValueInvalid", message: "field is immutable", field: "metadata.uid" }] };
    here.api.failNext("patch", accessRequests, new StatusError("Invalid", "is invalid", { details }));
    expect(await runLine("approve areq/vm-1", here.io)).toBe(0);
  });

  test("does not approve another request that took the name after it was looked at", async () => {
    const here = await world([{ name: "vm-1" }], {
      client: (client) => ({
        patch: async <T extends ApiObject>(...call: Parameters<Client["patch"]>): Promise<T> => {
          await client.delete(accessRequests, { name: "vm-1" });
          await client.create(accessRequests, accessObject({ name: "vm-1" }));
          return client.patch<T>(...call);
        },
      }),
    });
    expect(await runLine(["approve", "areq/vm-1", "--words", await here.words("vm-1")], here.io)).toBe(7);
    expect(here.io.err()).toContain('access request "vm-1" was replaced by another of the same name meanwhile');
    expect(here.stored("vm-1").status?.accepted).toBeUndefined();
  });

  test.each([
    ["denied", 'error: access request "vm-1" is already Denied; the machine must create a new request\n'],
    ["revoked", 'error: access request "vm-1" is already Revoked; the machine must create a new request\n'],
  ])("cannot take back that it was %s", async (field, message) => {
    const here = await world([{ name: "vm-1", status: { [field]: true } }]);
    expect(await runLine("approve areq/vm-1", here.io)).toBe(7);
    expect(here.io.err()).toBe(message);
  });

  test("goes on after one that fails, certificates among them, and ends with the first code", async () => {
    const here = await world([{ name: "vm-1" }]);
    expect(await runLine("approve areq/none vm-x accessrequest/vm-1 AREQ/vm-1", here.io)).toBe(6);
    expect(here.io.out()).toBe("accessrequest/vm-1 approved\n");
    expect(here.io.err()).toContain('accessrequests.access.pratique.dev "none" not found');
    expect(here.io.err()).toContain('certificatesigningrequests.certificates.k8s.io "vm-x" not found');
  });
});

describe("many at once", () => {
  const rack = (name: string, seven: boolean): AskedAccess => ({ name, labels: { rack: seven ? "7" : "8" } });

  test("are approved by their labels when there are as many as expected", async () => {
    const here = await world([rack("a", true), rack("b", false), rack("c", true)]);
    expect(await runLine("approve accessrequest -l rack=7 --expect 2", here.io)).toBe(0);
    expect(here.io.out()).toBe("accessrequest/a approved\naccessrequest/c approved\n");
    expect(here.io.err()).toBe("");
    expect(here.stored("b").status?.accepted).toBeUndefined();
  });

  test.each(["approve areq -l rack=7 --expect 1", "approve areq --all --expect 2", "deny areq -l rack=9 --expect 1"])(
    "are left alone by `%s`, which expects another number",
    async (line) => {
      const here = await world([rack("a", true), rack("b", false), rack("c", true)]);
      const before = here.api.writes.length;
      expect(await runLine(line, here.io)).toBe(7);
      expect(here.io.err()).toMatch(/^error: --expect \d, but \d requests wait for a decision; nothing was done\n/);
      expect(here.api.writes).toHaveLength(before);
    },
  );

  test("are not approved where one was replaced after they were counted", async () => {
    const here = await world([rack("a", true), rack("b", true)], {
      client: (client) => ({
        patch: async <T extends ApiObject>(...call: Parameters<Client["patch"]>): Promise<T> => {
          if (call[1].name === "a" && here.stored("a").metadata.labels !== undefined) {
            await client.delete(accessRequests, { name: "a" });
            await client.create(accessRequests, accessObject({ name: "a" }));
          }
          return client.patch<T>(...call);
        },
      }),
    });
    expect(await runLine("approve areq -l rack=7 --expect 2", here.io)).toBe(7);
    expect(here.io.out()).toBe("accessrequest/b approved\n");
    expect(here.io.err()).toContain('access request "a" was replaced by another of the same name meanwhile');
    expect(here.stored("a").status?.accepted).toBeUndefined();
  });

  test("are not approved where one of them needs care, but may be denied", async () => {
    const here = await world([rack("a", true), { ...rack("b", true), evidence: { possession: "Unproven" } }]);
    expect(await runLine("approve areq --all --expect 2", here.io)).toBe(7);
    expect(here.io.err()).toContain("accessrequest/b has contents that need care");
    expect(await runLine("approve areq --all --expect 2 --dry-run", here.io)).toBe(7);
    expect(here.io.out()).toBe("");
    expect(here.stored("a").status?.accepted).toBeUndefined();
    expect(await runLine(["deny", "areq", "--all", "--expect", "2", "--reason", "not ours"], here.io)).toBe(0);
    expect(here.stored("a").status).toMatchObject({ denied: true, reason: "not ours" });
  });

  test("--dry-run shows each with what it would be granted and what it says, and changes nothing", async () => {
    const seen: unknown[] = [];
    const here = await world([{ ...rack("a", true), hostname: "web 1", claims: { owner: "x,y" } }], {
      client: (client) => ({
        patch: async <T extends ApiObject>(...call: Parameters<Client["patch"]>): Promise<T> => {
          seen.push(call[3]);
          const request = await client.get<AccessRequest>(accessRequests, { name: "a" });
          return { ...request, status: { ...request.status, accepted: true } } as ApiObject as T;
        },
      }),
    });
    expect(await runLine("approve areq -l rack=7 --expect 1 --dry-run", here.io)).toBe(0);
    expect(seen).toEqual([{ subresource: "status", dryRun: true }]);
    expect(here.io.out()).toMatch(
      /^accessrequest\/a approved \(dry run\)\n {2}a: profile pods; grants vms: ClusterRole\/viewer; key SHA256:\S+; from 192\.0\.2\.7; says hostname="web 1",owner="x,y"\n$/,
    );
    expect(here.io.err()).toContain(`The machine must show: "${await here.words("a")}"`);
    expect(here.stored("a").status?.accepted).toBeUndefined();
  });
});

describe("pratique deny and revoke", () => {
  test("turn away and take back, with a reason", async () => {
    const here = await world([{ name: "new" }, { name: "in", status: { accepted: true, ready: true } }]);
    expect(await runLine("deny areq/new --reason Unknown", here.io)).toBe(0);
    expect(await runLine("revoke in --reason stolen", here.io)).toBe(0);
    expect(here.io.out()).toBe("accessrequest/new denied\naccessrequest/in revoked\n");
    expect(here.stored("new").status).toMatchObject({ denied: true, reason: "Unknown" });
    expect(here.stored("in").status).toMatchObject({ accepted: true, revoked: true, reason: "stolen" });
    expect(await runLine("deny areq/new areq/in", here.io)).toBe(0);
    expect(await runLine("revoke in", here.io)).toBe(0);
    expect(here.io.out()).toContain("accessrequest/new is denied already\naccessrequest/in is denied already\n");
  });

  test("send each other what is theirs", async () => {
    const here = await world([{ name: "new" }, { name: "in", status: { accepted: true } }]);
    expect(await runLine("deny areq/in", here.io)).toBe(7);
    expect(await runLine("revoke new", here.io)).toBe(7);
    expect(here.io.err()).toBe(
      'error: access request "in" is already Approved; revoke it with pratique revoke\n' +
        'error: access request "new" was not approved; pratique deny turns it away\n',
    );
  });

  test("revoke many that have access, if they are as many as expected", async () => {
    const labels = { rack: "7" };
    const here = await world([
      { name: "new", labels },
      { name: "in", labels, status: { accepted: true } },
    ]);
    expect(await runLine("revoke -l rack=7 --expect 2", here.io)).toBe(7);
    expect(here.io.err()).toContain("but 1 request has access; nothing was done");
    expect(await runLine("revoke -l rack=7 --expect 1", here.io)).toBe(0);
    expect(here.stored("in").status?.revoked).toBe(true);
  });
});

describe("--wait", () => {
  test("ends when access is issued", async () => {
    let asked = 0;
    const here = await world([{ name: "vm-1" }], {
      client: (client) => ({
        get: async <T extends ApiObject>(...call: Parameters<Client["get"]>): Promise<T> => {
          const object = await client.get<AccessRequest>(...call);
          asked += 1;
          const issued = asked > 3 ? { ready: true, expiresAt: "2026-11-21T01:00:00Z" } : {};
          return { ...object, status: { ...object.status, ...issued } } as ApiObject as T;
        },
      }),
    });
    const running = runLine("approve areq/vm-1 --wait 30s", here.io);
    const clock = here.io.clock as ReturnType<typeof fakeClock>;
    while (clock.sleeping() === 0) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(2000);
    expect(await running).toBe(0);
    expect(here.io.out()).toContain("accessrequest/vm-1 issued, valid until 2026-11-21T01:00:00Z\n");
  });

  test("ends with code 1 where nothing is issued, saying why, and with 5 where it takes too long", async () => {
    const conditions = [
      { type: "Issued", status: "False" as const, reason: "AccountTaken", message: "it is another's" },
    ];
    const here = await world([{ name: "taken", status: { conditions } }, { name: "slow" }]);
    expect(await runLine("approve areq/taken areq/slow --wait 0s", here.io)).toBe(1);
    expect(here.io.err()).toContain('access request "taken" was approved and nothing was issued: it is another\'s');
    expect(here.io.err()).toContain('access request "slow" is not issued yet; it goes on without waiting');
  });
});

describe("a wrong decision about access", () => {
  const cases: Readonly<Record<string, string>> = {
    "approve accessrequest": '"accessrequest" names no request: write accessrequest/NAME',
    "approve areq/": '"areq/" names no request: write accessrequest/NAME',
    "approve areq/a areq/b --words x": "--words are those of one access request: name accessrequest/NAME, and no other",
    "approve a --words x": "--words are those of one access request: name accessrequest/NAME, and no other",
    "approve areq --all --expect 1 --words x": "--words are those of one request: name it",
    "approve areq -l a=b": "--selector needs --expect N, the number of requests that you have looked at",
    "approve areq/a -l a=b --expect 1": "give names or --selector, not both",
    "approve areq csr --all --expect 1": "give names or --all, not both",
    "revoke csr --all --expect 1": '"csr": certificates are revoked by name, csr/NAME, and not by number',
    revoke:
      "nothing is named: give KIND/NAME, --fingerprint, --serial or --token, or accessrequest --all with --expect N",
    "revoke a --expect 1": "--expect belongs to --all and --selector",
    "deny areq/a --words x": "unknown flag: --words",
  };
  test.each(Object.entries(cases))("`%s` is refused with code 2", async (line, text) => {
    const here = await world([{ name: "a", key: newAccessKey() }]);
    expect(await runLine(line, here.io)).toBe(2);
    expect(here.io.err()).toContain(`error: ${text}\n`);
    expect(here.io.connections).toEqual([]);
  });
});
