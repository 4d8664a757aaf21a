import { describe, expect, test } from "vitest";
import { JoinError } from "../../credentials/join-error.ts";
import type { KlusterletEvent } from "../../agent/klusterlet/klusterlet-event.ts";
import type { KlusterletOptions, KlusterletResult } from "../../agent/klusterlet/klusterlet-options.ts";
import { fakeClock, settled } from "../../../test/kits/fake-clock.ts";
import { fakeIo, runLine, type FakeIo } from "../../../test/kits/fake-io.ts";

const line = "cluster join --bootstrap-kubeconfig hub.kubeconfig --cluster-name east --dir d";
const events: readonly KlusterletEvent[] = [
  { kind: "started", cluster: "east", agent: "x7k2p", place: "/here/d" },
  { kind: "requested", request: "east-1", fingerprint: "SHA256:abc", agent: "x7k2p", found: false },
  {
    kind: "waiting",
    open: ["certificate", "acceptance"],
    agent: "x7k2p",
    commands: ["pratique cluster accept east --agent-id x7k2p"],
  },
];
const result: KlusterletResult = { cluster: "east", agent: "x7k2p", server: "https://hub.example:6443" };

/** An agent that tells these things, and stays until it is ended. */
function world(reported: readonly KlusterletEvent[]): FakeIo & { readonly pass: (ms: number) => Promise<void> } {
  const clock = fakeClock();
  const io = fakeIo({
    clock,
    runKlusterlet: async ({ report, signal }: KlusterletOptions) => {
      reported.forEach(report);
      const isOver = reported.some(({ kind }) => kind === "available");
      if (!isOver && !signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return result;
    },
  });
  return { ...io, pass: (ms) => clock.advance(ms) };
}

describe("pratique cluster join", () => {
  test("ends once the cluster is available, and says what keeps it so", async () => {
    const io = world([...events, { kind: "accepted", everyMs: 60_000 }, { kind: "available" }]);
    expect(await runLine(line, io)).toBe(0);
    expect(io.err()).toContain("asked for a certificate: csr/east-1, agent id x7k2p, key SHA256:abc\n");
    expect(io.err()).toContain(
      "On the hub, compare the agent id x7k2p, then: pratique cluster accept east --agent-id x7k2p\n",
    );
    expect(io.out()).toContain(
      "  pratique klusterlet --bootstrap-kubeconfig hub.kubeconfig --cluster-name east --dir d\n",
    );
  });

  test("ends with 5 when nobody decides in time, and says which decisions are open", async () => {
    const io = world(events);
    const running = runLine(`${line} --timeout 1m`, io);
    await io.pass(60_000);
    expect(await running).toBe(5);
    expect(io.err()).toContain(
      "error: the time is up, still waiting for an approver to approve the certificate and an approver to accept the cluster\nOn the hub: pratique cluster accept east --agent-id x7k2p\n",
    );
  });

  test("ends with 130 when it is interrupted", async () => {
    const io = world(events);
    const running = runLine(line, io);
    await settled();
    io.interrupt();
    expect(await running).toBe(130);
  });

  test("tells what the agent was refused for, with its code", async () => {
    const runKlusterlet = (): Promise<KlusterletResult> => Promise.reject(new JoinError("denied", "the hub denied it"));
    const io = fakeIo({ runKlusterlet });
    expect(await runLine(line, io)).toBe(4);
    expect(io.err()).toBe("error: the hub denied it\n");
  });

  test("needs to be told of a hub", async () => {
    const io = fakeIo();
    expect(await runLine("cluster join --cluster-name east", io)).toBe(2);
    expect(io.err()).toContain("On the hub: pratique cluster token --bootstrap-kubeconfig FILE");
  });

  test("lets nothing that a hub says reach the terminal", async () => {
    const io = world([{ kind: "failed", message: "no \u001b[2J" }, ...events, { kind: "available" }]);
    await runLine(line, io);
    expect(io.err()).toContain("no \\u{1b}[2J");
    expect(io.err()).not.toContain("\u001b");
  });
});
