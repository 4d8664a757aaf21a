import { describe, expect, it } from "vitest";
import { environmentProxy } from "./environment-proxy.ts";

const proxied = "http://proxy.test:3128";

function through(server: string, noProxy: string): boolean {
  return environmentProxy(server, { HTTPS_PROXY: proxied, NO_PROXY: noProxy }) === proxied;
}

describe("the proxy of the environment", () => {
  it.each([
    ["there is none", {}, undefined],
    ["only that for http", { HTTP_PROXY: proxied, ALL_PROXY: proxied }, undefined],
    ["upper case counts first", { HTTPS_PROXY: "http://a", https_proxy: "http://b" }, "http://a"],
    ["an empty one is none", { HTTPS_PROXY: "", https_proxy: "http://b" }, "http://b"],
    ["without a scheme it speaks HTTP", { HTTPS_PROXY: "proxy.test:3128" }, "http://proxy.test:3128"],
    ["socks5 as it is", { https_proxy: "socks5://u:p@proxy.test" }, "socks5://u:p@proxy.test"],
    ["what is left out, in lower case", { HTTPS_PROXY: proxied, no_proxy: "hub.test" }, undefined],
    ["upper case counts first there too", { HTTPS_PROXY: proxied, NO_PROXY: "x", no_proxy: "hub.test" }, proxied],
  ])("%s", (_what, env, expected) => {
    expect(environmentProxy("https://hub.test:6443", env)).toBe(expected);
  });

  it.each([
    "https://localhost",
    "https://127.0.0.1:6443",
    "https://127.9.9.9",
    "https://[::1]:6443",
    "https://[::ffff:127.0.0.1]",
  ])("is never used for this machine: %s", (server) => {
    expect(through(server, "")).toBe(false);
  });

  // Cases of golang.org/x/net/http/httpproxy, TestUseProxy, and a few around them.
  it.each([
    ["https://barbaz.net", "foobar.com, .barbaz.net", true],
    ["https://www.barbaz.net", "foobar.com, .barbaz.net", false],
    ["https://foobar.com", "foobar.com, .barbaz.net", false],
    ["https://www.foobar.com", "foobar.com, .barbaz.net", false],
    ["https://foofoobar.com", "foobar.com, .barbaz.net", true],
    ["https://local.localhost", ".barbaz.net", true],
    ["https://a.example.com", "*.example.com", false],
    ["https://example.com", "*.example.com", true],
    ["https://EXAMPLE.com", "Example.COM", false],
    ["https://hub.test:6443", "hub.test:6443", false],
    ["https://hub.test:6444", "hub.test:6443", true],
    ["https://hub.test", "hub.test:443", false],
    ["https://a.hub.test:6443", ".hub.test:6443", false],
    ["https://hub.test", "*", false],
    ["https://hub.test", " , ,hub.test", false],
    ["https://hub.test", ":443", true],
    ["https://10.1.2.3", "10.0.0.0/8", false],
    ["https://11.1.2.3", "10.0.0.0/8", true],
    ["https://10.1.2.3", "10.0.0.0/99", true],
    ["https://10.1.2.3", "10.1.2.3", false],
    ["https://10.1.2.3:6443", "10.1.2.3:6443", false],
    ["https://10.1.2.3:6444", "10.1.2.3:6443", true],
    ["https://110.1.2.3", "10.1.2.3", true],
    ["https://[fd00::1]", "fd00::/8", false],
    ["https://[fe00::1]", "fd00::/8", true],
    ["https://[fd00::1]:6443", "[fd00::1]:6443", false],
    ["https://[fd00::1]:6443", "fd00::1", false],
    ["https://[::ffff:10.1.2.3]", "10.0.0.0/8", false],
    ["https://münchen.test", "münchen.test", false],
  ])("reaches %s with NO_PROXY=%s through it: %s", (server, noProxy, expected) => {
    expect(through(server, noProxy)).toBe(expected);
  });
});
