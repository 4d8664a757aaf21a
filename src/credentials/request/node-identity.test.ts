import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { failureOf } from "../../../test/kits/join-bench.ts";
import { nodeRequestName, nodeUsages, nodeUser, requireNodeName } from "./node-identity.ts";

describe("the name of a request", () => {
  const spki = Buffer.from(
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEavCywWpaWbo+2XOrxSXv/x1Fov4RkbGMjlAKTw0YGrqj4utKarDwid1KYxd+7f6KxCPV3B7ePF33LHFOtrEPEA==",
    "base64",
  );

  test("is the one that a kubelet 1.20.2 gave its own request for this key", () => {
    const name = nodeRequestName({
      spki,
      commonName: "system:node:kx",
      organizations: ["system:nodes"],
      usages: ["digital signature", "key encipherment", "client auth"],
    });
    expect(name).toBe("node-csr-jaJQuYhUNL4AwdySn0ouISxSOBvnhEXOjyeRi1DHc28");
  });

  test("differs for any other node or usage", () => {
    const input = { spki, organizations: ["system:nodes"], usages: nodeUsages(27) };
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        fc.pre(one !== other);
        expect(nodeRequestName({ ...input, commonName: one })).not.toBe(
          nodeRequestName({ ...input, commonName: other }),
        );
      }),
      { numRuns: 100 },
    );
    const commonName = nodeUser("n1");
    expect(nodeRequestName({ ...input, commonName })).not.toBe(
      nodeRequestName({ ...input, commonName, usages: nodeUsages(26) }),
    );
  });
});

describe("the name of a node", () => {
  test.each(["n1", "worker-3.example.com", "0"])("may be %s", (name) => expect(requireNodeName(name)).toBe(name));

  test.each(["", "N1", "a_b", "a b", "-a", "a/../b", "a".repeat(254), "n1\n"])("may not be %j", async (name) => {
    const error = await failureOf(Promise.resolve().then(() => requireNodeName(name)));
    expect(error.code).toBe("bad-node-name");
    expect(error.message).toContain("--node-name");
  });
});
