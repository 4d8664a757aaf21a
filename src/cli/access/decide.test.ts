import { describe, expect, test } from "vitest";
import type { Client } from "../../client/client.ts";
import { certificateSigningRequests as csrs } from "../../controllers/kinds.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { conflict, staleObject, StatusError } from "../../apimachinery/status.ts";
import { type AskedCsr, csrObject } from "../../../test/kits/csr-object.ts";
import { type MemoryApi, memoryApi } from "../../../test/kits/memory-api.ts";
import { fakeClock } from "../../../test/kits/fake-clock.ts";
import { type FakeIo, fakeIo, kubeconfigText, runLine } from "../../../test/kits/fake-io.ts";

interface World {
  readonly api: MemoryApi;
  readonly io: FakeIo;
}

async function world(requests: readonly AskedCsr[]): Promise<World> {
  const clock = fakeClock();
  const api = memoryApi({ clock });
  for (const request of requests) await api.given(csrs, csrObject(request));
  const files = { "/home/ada/.kube/config": kubeconfigText() };
  return { api, io: fakeIo({ clock, client: api.client, files }) };
}

function conditions({ api }: World, name: string): unknown {
  const found = api.all(csrs).find((one) => one.metadata.name === name);
  return (found?.["status"] as { readonly conditions?: unknown } | undefined)?.conditions;
}

function decisions({ api }: World): number {
  return api.writes.filter(({ subresource }) => subresource === "approval").length;
}

/** When the clock stands still. */
const now = "2026-11-21T00:00:00Z";
const times = { lastUpdateTime: now, lastTransitionTime: now };
const approved = {
  type: "Approved",
  status: "True",
  reason: "PratiqueApprove",
  message: "This CSR was approved by pratique approve.",
  ...times,
};
const bad: AskedCsr = { name: "bad", organizations: ["system:masters"] };

describe("pratique approve", () => {
  test("approves each request that is named, with or without its kind, once", async () => {
    const here = await world([{ name: "a" }, { name: "B_c-" }, { name: "d" }, { name: "other" }]);
    const line = "approve csr/a B_c- certificatesigningrequests.certificates.k8s.io/d CSR/a";
    expect(await runLine(line, here.io)).toBe(0);
    expect(here.io.out()).toBe("csr/a approved\ncsr/B_c- approved\ncsr/d approved\n");
    expect(here.io.err()).toBe("");
    expect(conditions(here, "a")).toEqual([approved]);
    expect(conditions(here, "other")).toBeUndefined();
    expect(decisions(here)).toBe(3);
  });

  test("takes names as `kubectl get -o name` prints them", async () => {
    const here = await world([{ name: "a" }]);
    expect(await runLine("approve certificatesigningrequest.certificates.k8s.io/a", here.io)).toBe(0);
    expect(here.io.out()).toBe("csr/a approved\n");
  });

  test("says of a name alone that is not found which kind it was taken for", async () => {
    const here = await world([]);
    expect(await runLine("approve a csr/b", here.io)).toBe(6);
    expect(here.io.err()).toBe(
      [
        'error: certificatesigningrequests.certificates.k8s.io "a" not found',
        "Was accessrequest/a meant? A name alone is csr/a here.",
        'error: certificatesigningrequests.certificates.k8s.io "b" not found',
        "",
      ].join("\n"),
    );
  });

  test("leaves a request that is approved already as it is", async () => {
    const here = await world([{ name: "a", conditions: [approved] }]);
    expect(await runLine("approve a", here.io)).toBe(0);
    expect(here.io.out()).toBe("csr/a is approved already\n");
    expect(decisions(here)).toBe(0);
  });

  test("cannot take back a denial", async () => {
    const here = await world([{ name: "a", conditions: [{ type: "Denied", status: "True" }] }]);
    expect(await runLine("approve a", here.io)).toBe(7);
    expect(here.io.err()).toBe(
      'error: certificate request "a" is already Denied, and that cannot be taken back\n' +
        "A machine asks again, with a new key, by: pratique join … --force\n",
    );
    expect(decisions(here)).toBe(0);
  });

  test("tries again when the request was changed meanwhile", async () => {
    const here = await world([{ name: "a" }]);
    for (let times = 0; times < 9; times += 1) here.api.failNext("update", csrs, conflict(csrs, "a", staleObject));
    expect(await runLine("approve a", here.io)).toBe(0);
    expect(conditions(here, "a")).toEqual([approved]);
  });

  test("gives up after ten tries, with code 7", async () => {
    const here = await world([{ name: "a" }]);
    for (let times = 0; times < 10; times += 1) here.api.failNext("update", csrs, conflict(csrs, "a", staleObject));
    expect(await runLine("approve a", here.io)).toBe(7);
    expect(conditions(here, "a")).toBeUndefined();
  });

  test("does not approve another request that took the name meanwhile", async () => {
    const here = await world([{ name: "a" }]);
    const io = fakeIo({
      files: { "/home/ada/.kube/config": kubeconfigText() },
      client: {
        ...here.api.client,
        update: async <T extends ApiObject>(...call: Parameters<Client["update"]>): Promise<T> => {
          await here.api.client.delete(csrs, { name: "a" });
          await here.api.given(csrs, csrObject({ name: "a", commonName: "system:node:eve" }));
          return here.api.client.update<T>(...call);
        },
      },
    });
    expect(await runLine("approve a", io)).toBe(7);
    expect(io.err()).toBe(
      'error: certificate request "a" was replaced by another of the same name meanwhile; nothing was done\n',
    );
    expect(conditions(here, "a")).toBeUndefined();
  });

  test("goes on after one that fails, and ends with its code", async () => {
    const here = await world([{ name: "a" }, { name: "b" }]);
    expect(await runLine("approve csr/none a", here.io)).toBe(6);
    expect(here.io.out()).toBe("csr/a approved\n");
    expect(here.io.err()).toBe('error: certificatesigningrequests.certificates.k8s.io "none" not found\n');
  });

  test("tells a missing right with code 4", async () => {
    const here = await world([{ name: "a" }]);
    const why = 'user not permitted to approve requests with signerName "x"';
    here.api.failNext("update", csrs, new StatusError("Forbidden", why));
    expect(await runLine("approve a", here.io)).toBe(4);
    expect(here.io.err()).toBe(`error: ${why}\n`);
  });

  test("warns of contents that need care, escaped", async () => {
    const here = await world([{ ...bad, commonName: "system:node:\u202e" }]);
    expect(await runLine("approve bad", here.io)).toBe(0);
    expect(here.io.err()).toContain("warning: csr/bad asks for the group system:masters, which may do everything\n");
    expect(here.io.err()).toContain('the name "system:node:\\u{202e}" holds characters');
  });

  test("--dry-run asks the server to change nothing", async () => {
    const here = await world([{ name: "a" }]);
    const seen: unknown[] = [];
    const io = fakeIo({
      files: { "/home/ada/.kube/config": kubeconfigText() },
      client: {
        ...here.api.client,
        update: async <T extends ApiObject>(_resource: unknown, object: ApiObject, options: unknown): Promise<T> => {
          seen.push(options);
          return object as T;
        },
      },
    });
    expect(await runLine("approve a --dry-run", io)).toBe(0);
    expect(io.out()).toBe("csr/a approved (dry run)\n");
    expect(seen).toEqual([{ subresource: "approval", dryRun: true }]);
  });
});

describe("--all", () => {
  test("decides on every undecided request when there are as many as expected", async () => {
    const here = await world([{ name: "a" }, { name: "b" }, { name: "c", conditions: [approved] }]);
    expect(await runLine("approve --all --expect 2", here.io)).toBe(0);
    expect(here.io.out()).toBe("csr/a approved\ncsr/b approved\n");
  });

  test("does nothing with any other number", async () => {
    const here = await world([{ name: "a" }]);
    expect(await runLine("approve --all --expect 2", here.io)).toBe(7);
    expect(here.io.err()).toBe(
      "error: --expect 2, but 1 request waits for a decision; nothing was done\nLook at them again: pratique pending\n",
    );
    expect(decisions(here)).toBe(0);
  });

  test("approves nothing where one of them needs care, but denies it", async () => {
    const here = await world([{ name: "a" }, bad]);
    expect(await runLine("approve --all --expect 2", here.io)).toBe(7);
    expect(here.io.err()).toBe(
      "error: csr/bad has contents that need care, and must be approved by name or denied; nothing was done\nWhat they are: pratique pending\n",
    );
    expect(decisions(here)).toBe(0);
    expect(await runLine("deny --all --expect 2", here.io)).toBe(0);
    expect(decisions(here)).toBe(2);
  });
});

describe("pratique deny", () => {
  test("writes reason and message", async () => {
    const here = await world([{ name: "a" }, { name: "b" }]);
    expect(await runLine(["deny", "csr/a", "--reason", "Unknown", "--message", "Not one of ours."], here.io)).toBe(0);
    expect(await runLine("deny b", here.io)).toBe(0);
    expect(here.io.out()).toBe("csr/a denied\ncsr/b denied\n");
    expect(conditions(here, "a")).toEqual([
      { type: "Denied", status: "True", reason: "Unknown", message: "Not one of ours.", ...times },
    ]);
    expect(conditions(here, "b")).toEqual([
      {
        type: "Denied",
        status: "True",
        reason: "PratiqueDeny",
        message: "This CSR was denied by pratique deny",
        ...times,
      },
    ]);
  });

  test("cannot take back an approval, and leaves a denial as it is", async () => {
    const here = await world([
      { name: "a", conditions: [approved] },
      { name: "b", conditions: [{ type: "Denied", status: "True" }] },
    ]);
    expect(await runLine("deny a b", here.io)).toBe(7);
    expect(here.io.err()).toBe(
      'error: certificate request "a" is already Approved, and that cannot be taken back\n' +
        "To revoke the certificate: pratique revoke csr/a\n",
    );
    expect(here.io.out()).toBe("csr/b is denied already\n");
  });
});

describe("a wrong decision", () => {
  const cases: Readonly<Record<string, string>> = {
    "approve pod/a": '"pod/a" is no request: write csr/NAME or accessrequest/NAME',
    "approve csr/": '"csr/" names no request: write csr/NAME',
    "approve csr/a/approval": '"csr/a/approval" names no request: write csr/NAME',
    "deny csr/..": '"csr/.." names no request: write csr/NAME',
    approve: "no request is named: give csr/NAME or accessrequest/NAME, or --all with --expect N",
    "approve --all": "--all needs --expect N, the number of requests that you have looked at",
    "approve a --all --expect 1": "give names or --all, not both",
    "approve a --expect 1": "--expect belongs to --all and --selector",
    "approve csr/a --expect -1": "--expect needs a value; one that begins with a dash is written --expect=…",
  };
  test.each(Object.entries(cases))("`%s` is refused with code 2", async (line, text) => {
    const here = await world([{ name: "a" }]);
    expect(await runLine(line, here.io)).toBe(2);
    expect(here.io.err()).toBe(`error: ${text}\nSee 'pratique ${line.split(" ")[0]} --help'.\n`);
    expect(here.io.connections).toEqual([]);
  });
});
