import { describe, expect, test } from "vitest";
import type { LogEntry } from "../apimachinery/log-entry.ts";
import { reloadingPolicy, type CompiledPolicy } from "./deciding-policy.ts";

interface Stage {
  readonly files: { text: string };
  readonly log: LogEntry[];
  readonly retired: string[];
  readonly reloads: string[];
  readonly policy: Awaited<ReturnType<typeof reloadingPolicy>>;
}

async function stage(compiled: (text: string) => CompiledPolicy = plain): Promise<Stage> {
  const files = { text: "one" };
  const [log, retired, reloads]: [LogEntry[], string[], string[]] = [[], [], []];
  const policy = await reloadingPolicy({
    read: async () => {
      const { text } = files;
      if (text === "gone") throw new TypeError("the file is gone");
      return {
        key: text,
        compile: () => {
          if (text.startsWith("broken")) throw new TypeError(`${text} does not compile`);
          return { retire: () => void retired.push(text), ...compiled(text) };
        },
      };
    },
    log: (entry) => void log.push(entry),
    reloaded: (status) => void reloads.push(status),
  });
  return { files, log, retired, reloads, policy };
}

function plain(text: string): CompiledPolicy {
  return { ask: async () => ({ json: JSON.stringify(text) }) };
}

describe("a policy that follows its files", () => {
  test("is compiled anew when they change, and the one before is let go", async () => {
    const { files, log, retired, reloads, policy } = await stage();
    await policy.look();
    expect([log, retired]).toEqual([[], []]);
    files.text = "two";
    await policy.look();
    expect(await policy.ask({})).toEqual({ json: '"two"' });
    expect([retired, reloads, log.map(({ reason }) => reason)]).toEqual([["one"], ["success"], ["Reloaded"]]);
  });

  test("stays the last good one while they are broken, which is told once, and comes back", async () => {
    const { files, log, reloads, policy } = await stage();
    for (const text of ["broken", "broken", "gone", "gone"]) {
      files.text = text;
      await policy.look();
      expect(await policy.ask({})).toEqual({ json: '"one"' });
    }
    expect([reloads.length, log.map(({ reason }) => reason)]).toEqual([2, ["ReloadFailed", "ReloadFailed"]]);
    files.text = "three";
    await policy.look();
    expect(await policy.ask({})).toEqual({ json: '"three"' });
  });

  test("that does not compile is compiled once, and then rarely, until it changes", async () => {
    let tries = 0;
    const { files, policy } = await stage((text) => {
      if (text === "hangs") tries += 1;
      if (text === "hangs") throw new TypeError("it never starts");
      return plain(text);
    });
    files.text = "hangs";
    for (let look = 0; look < 31; look += 1) await policy.look();
    expect(tries).toBe(1);
    await policy.look();
    expect(tries).toBe(2);
    files.text = "two";
    await policy.look();
    expect(await policy.ask({})).toEqual({ json: '"two"' });
    files.text = "hangs";
    await policy.look();
    expect(tries).toBe(3);
  });

  test("answers what was asked before the change by the policy of then", async () => {
    let release: () => void = () => undefined;
    const { files, policy } = await stage((text) => ({
      ask: () => new Promise((resolve) => (release = () => resolve({ json: `"${text}"` }))),
    }));
    const asked = policy.ask({});
    const releaseFirst = release;
    files.text = "two";
    await policy.look();
    releaseFirst();
    expect(await asked).toEqual({ json: '"one"' });
  });

  test("that throws has failed, and no more", async () => {
    const { policy } = await stage(() => ({ ask: () => Promise.reject(new TypeError("a fault")) }));
    expect(await policy.ask({})).toEqual({ error: "a fault" });
  });

  test("is not taken from files that somebody is still writing", async () => {
    const files = { text: "one" };
    const closed: string[] = [];
    let write: (step: "settling" | "compiling") => void = () => undefined;
    const policy = await reloadingPolicy({
      read: async () => {
        const { text } = files;
        const compile = async (): Promise<CompiledPolicy> => {
          write("compiling");
          return { ...plain(text), close: () => void closed.push(text) };
        };
        return { key: text, compile };
      },
      log: () => undefined,
      clock: { sleep: async () => write("settling") },
    });
    for (const at of ["settling", "compiling"] as const) {
      files.text = `half, then ${at}`;
      write = (step) => {
        if (step === at) files.text = `more, then ${at}`;
      };
      await policy.look();
      expect(await policy.ask({})).toEqual({ json: '"one"' });
    }
    // What was compiled of it is let go.
    expect(closed).toEqual(["half, then compiling"]);
    write = () => undefined;
    await policy.look();
    expect(await policy.ask({})).toEqual({ json: '"more, then compiling"' });
  });

  test("is left as it was, and looked at again, where its files go while they are read", async () => {
    const { files, policy } = await stage((text) => {
      if (text === "two") files.text = "gone";
      return plain(text);
    });
    files.text = "two";
    await policy.look();
    expect(await policy.ask({})).toEqual({ json: '"one"' });
    files.text = "three";
    await policy.look();
    expect(await policy.ask({})).toEqual({ json: '"three"' });
  });

  test("must be good at first", async () => {
    const read = (): Promise<never> => Promise.reject(new TypeError("nothing there"));
    await expect(reloadingPolicy({ read, log: () => undefined })).rejects.toThrow("nothing there");
  });
});
