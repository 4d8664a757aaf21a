import { expect, test } from "vitest";
import { joinDefaults } from "./join-defaults.ts";

test("are a kubelet's own places for root", () => {
  expect(joinDefaults({ hostname: "N1.Example\n", uid: 0, home: "/root" })).toEqual({
    nodeName: "n1.example",
    certDir: "/var/lib/kubelet/pki",
    kubeconfig: "/etc/kubernetes/kubelet.conf",
  });
});

test.each([1000, undefined])("are a folder under the home for the user %j", (uid) => {
  expect(joinDefaults({ hostname: "n1", uid, home: "/home/a" })).toEqual({
    nodeName: "n1",
    certDir: "/home/a/.pratique/agent/pki",
    kubeconfig: "/home/a/.pratique/agent/kubelet.conf",
  });
});
