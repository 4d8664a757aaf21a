import { describe, expect, it } from "vitest";
import { kubernetesService, serviceAddress } from "./kubernetes-service.ts";

describe("the address of the Service kubernetes", () => {
  it.each([
    ["where the hub listens", "10.0.0.5", ["203.0.113.1"], ["10.0.0.9"], "10.0.0.5"],
    ["a loopback one where it listens there alone", "127.0.0.1", [], ["10.0.0.9"], "127.0.0.1"],
    [
      "of all addresses the one that the operator names",
      "0.0.0.0",
      ["hub.example", "203.0.113.1"],
      ["10.0.0.9"],
      "203.0.113.1",
    ],
    [
      "of all addresses the first of the machine",
      "0.0.0.0",
      ["hub.example", "127.0.0.1"],
      ["10.0.0.9", "fd00::1"],
      "10.0.0.9",
    ],
    ["the same over IPv6", "::", [], ["fd00::1"], "fd00::1"],
    ["a loopback one on a machine without another", "::", [], [], "127.0.0.1"],
    ["not a name that the operator gives to listen at", "localhost", ["::1"], [], "::1"],
  ])("is %s", (...[, bindAddress, tlsSans, ofMachine, address]) => {
    expect(serviceAddress({ bindAddress, tlsSans }, ofMachine)).toBe(address);
  });

  it("says of which family it is", () => {
    expect(kubernetesService("fd00::1", 6443)["spec"]).toMatchObject({ clusterIPs: ["fd00::1"], ipFamilies: ["IPv6"] });
  });
});
