import { describe, expect, it } from "vitest";
import { StorageError } from "../storage/store.ts";
import { HubError } from "../apimachinery/hub-error.ts";
import { startError } from "./start-error.ts";

const place = { dataDir: "/data/hub", bindAddress: "127.0.0.1", securePort: 6443 };
const words =
  ": run the hub as the account that owns /data/hub, or change the owner of all of it: chown -R ACCOUNT /data/hub";

function systemError(code: string, syscall: string, path?: string): Error {
  const at = path === undefined ? {} : { path };
  return Object.assign(new Error(`${code}: refused, ${syscall}`), { code, syscall, ...at });
}

describe("the error of a start", () => {
  it.each([
    ["EACCES", "open", "/data/hub/pki/hub.json"],
    ["EACCES", "open", "/data/hub/.a7514112e64d.tmp"],
    ["EPERM", "chmod", "/data/hub/pki"],
    ["EPERM", "chmod", "/data/hub"],
    ["EACCES", "mkdir", "/data/hub/store"],
  ])("names the file of the data directory that this account may not use: %s of %s", (code, syscall, path) => {
    const error = startError(systemError(code, syscall, path), place);
    expect(error).toBeInstanceOf(HubError);
    expect(error).toMatchObject({ code: "data-dir", message: `this account may not use ${path}${words}` });
  });

  it("names that file where the store has met it", () => {
    const cause = systemError("EACCES", "open", "/data/hub/store/format");
    expect(startError(new StorageError("unreachable", "the store cannot be opened", { cause }), place)).toMatchObject({
      code: "data-dir",
      message: `this account may not use /data/hub/store/format${words}`,
    });
  });

  it("asks for another data directory where this one cannot be made", () => {
    expect(startError(systemError("EACCES", "mkdir", "/data/hub"), place)).toMatchObject({
      code: "data-dir",
      message:
        "the hub cannot make the data directory /data/hub: this account may not make the directory /data/hub; give a path with --data-dir where this account may make a directory",
    });
  });

  it("says that the file system of the data directory takes no writes", () => {
    const cause = systemError("EROFS", "mkdir", "/data/hub/store");
    expect(startError(new StorageError("unreachable", "the store cannot be opened", { cause }), place)).toMatchObject({
      code: "data-dir",
      message:
        "the hub cannot write /data/hub/store: the file system of the data directory /data/hub is mounted read-only; mount it for writing, or give another path with --data-dir",
    });
  });

  it.each([
    ["EROFS", "/data/hub is on a file system that is mounted read-only"],
    ["ENOENT", "the file system of /data/hub, such as /proc, does not allow new directories there"],
    ["ENAMETOOLONG", "the path /data/hub is too long"],
  ])("says why the data directory cannot be made, without a code: %s", (code, why) => {
    expect(startError(systemError(code, "mkdir", "/data/hub"), place)).toMatchObject({
      code: "data-dir",
      message: `the hub cannot make the data directory /data/hub: ${why}; give a path with --data-dir where this account may make a directory`,
    });
  });

  it("speaks of the port only where the port was refused", () => {
    expect(startError(systemError("EACCES", "listen"), place)).toMatchObject({
      code: "port",
      message: expect.stringMatching(/^this account may not listen at 127\.0\.0\.1:6443: choose a port above 1023/),
    });
    const other = systemError("EACCES", "open", "/etc/tokens.csv");
    expect(startError(other, place)).toBe(other);
  });

  it("is left as it is where an option was told of already", () => {
    const cause = systemError("EACCES", "lstat", "/data/hub/audit/audit.log");
    const error = new HubError("options", "--audit-log-path: this account may not write it", { cause });
    expect(startError(error, place)).toBe(error);
  });
});
