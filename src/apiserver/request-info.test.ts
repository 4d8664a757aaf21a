import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { splitTarget } from "./http-types.ts";
import { requestInfo } from "./request-info.ts";

/** `<verb> <group>/<version> <resource>[/<sub>] [ns=<namespace>] [name=<name>]`, or `<verb> <path>` for what is no resource. */
function read(line: string): string | undefined {
  const [method = "", target = ""] = line.split(" ");
  const { path, query } = splitTarget(target);
  const info = requestInfo(method, path, query);
  if (info === undefined) return undefined;
  const { isResource, verb, group, version, resource, subresource, namespace, name } = info;
  if (!isResource) return `${verb} ${info.path}`;
  const what = subresource === "" ? resource : `${resource}/${subresource}`;
  const place = namespace === "" ? "" : ` ns=${namespace}`;
  return `${verb} ${group}/${version} ${what}${place}${name === "" ? "" : ` name=${name}`}`;
}

describe("the verb of a request", () => {
  it.each([
    ["POST /api/v1/namespaces/a/pods", "create /v1 pods ns=a"],
    ["GET /api/v1/namespaces/a/pods/p", "get /v1 pods ns=a name=p"],
    ["HEAD /api/v1/namespaces/a/pods/p", "get /v1 pods ns=a name=p"],
    ["GET /api/v1/namespaces/a/pods", "list /v1 pods ns=a"],
    ["HEAD /api/v1/pods", "list /v1 pods"],
    ["GET /api/v1/pods?watch=true", "watch /v1 pods"],
    ["GET /api/v1/pods?watch=1", "watch /v1 pods"],
    ["GET /api/v1/pods?watch=false", "list /v1 pods"],
    ["GET /api/v1/pods?watch=0", "list /v1 pods"],
    ["GET /api/v1/namespaces/a/pods/p?watch=true", "get /v1 pods ns=a name=p"],
    ["PUT /apis/apps/v1/namespaces/a/deployments/d", "update apps/v1 deployments ns=a name=d"],
    ["PATCH /apis/apps/v1/namespaces/a/deployments/d/scale", "patch apps/v1 deployments/scale ns=a name=d"],
    ["DELETE /api/v1/nodes/n", "delete /v1 nodes name=n"],
    ["DELETE /api/v1/namespaces/a/pods", "deletecollection /v1 pods ns=a"],
    ["list /api/v1/pods", " /v1 pods"],
    ["constructor /api/v1/pods", " /v1 pods"],
  ])("%s is %s", (line, said) => {
    expect(read(line)).toBe(said);
  });
});

describe("what is no resource", () => {
  it.each([
    ["GET /api", "get /api"],
    ["GET /api/v1", "get /api/v1"],
    ["GET /apis/apps", "get /apis/apps"],
    ["GET /apis/apps/v1", "get /apis/apps/v1"],
    ["POST /metrics", "post /metrics"],
    ["GET /apis/apps/v1/a/b/c/d/e", "get /apis/apps/v1/a/b/c/d/e"],
  ])("%s is %s, with the method in small letters as verb", (line, said) => {
    expect(read(line)).toBe(said);
  });
});

describe("a namespace", () => {
  it.each([
    ["GET /api/v1/namespaces", "list /v1 namespaces"],
    ["GET /api/v1/namespaces/a", "get /v1 namespaces ns=a name=a"],
    ["PUT /api/v1/namespaces/a/finalize", "update /v1 namespaces/finalize ns=a name=a"],
    ["PUT /api/v1/namespaces/a/status", "update /v1 namespaces/status ns=a name=a"],
    ["GET /api/v1/namespaces/a/widgets", "list /v1 widgets ns=a"],
  ])("as in %s is %s", (line, said) => {
    expect(read(line)).toBe(said);
  });
});

describe("a selector of one name", () => {
  it.each([
    ["GET /api/v1/namespaces/a/secrets?fieldSelector=metadata.name%3Dx", "list /v1 secrets ns=a name=x"],
    ["GET /api/v1/namespaces/a/secrets?watch=1&fieldSelector=metadata.name%3Dx", "watch /v1 secrets ns=a name=x"],
    ["DELETE /api/v1/namespaces/a/secrets?fieldSelector=metadata.name%3Dx", "deletecollection /v1 secrets ns=a name=x"],
    ["POST /api/v1/namespaces/a/secrets?fieldSelector=metadata.name%3Dx", "create /v1 secrets ns=a"],
    ["GET /api/v1/namespaces/a/secrets/y?fieldSelector=metadata.name%3Dx", "get /v1 secrets ns=a name=y"],
    ["GET /api/v1/namespaces/a/secrets?fieldSelector=metadata.name!%3Dx", "list /v1 secrets ns=a"],
    ["GET /api/v1/namespaces/a/secrets?fieldSelector=%3D%3D%3D", "list /v1 secrets ns=a"],
  ])("is the name: %s is %s", (line, said) => {
    expect(read(line)).toBe(said);
  });
});

describe("any path", () => {
  it("that names a resource has no slash in any part, however it is encoded", () => {
    const part = fc.constantFrom("api", "apis", "v1", "namespaces", "pods", "a", "%2F", "a%2Fb", "", "..", "status");
    const root = fc.constantFrom<readonly string[]>([], ["api", "v1"], ["apis", "a", "v1"]);
    const seen = { resources: 0, encoded: 0 };
    fc.assert(
      fc.property(root, fc.array(part, { maxLength: 6 }), (first, rest) => {
        const { path, query } = splitTarget(`/${[...first, ...rest].join("/")}`);
        const info = requestInfo("GET", path, query);
        if (rest.some((one) => one.includes("%2F"))) seen.encoded += 1;
        if (info?.isResource !== true) return;
        seen.resources += 1;
        const { group, version, resource, subresource, namespace, name } = info;
        expect([group, version, resource, subresource, namespace, name].join("")).not.toContain("/");
      }),
      { numRuns: 400 },
    );
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(20);
  });

  it("with an encoding that is none is refused", () => {
    expect(read("GET /api/v1/pods/%zz")).toBeUndefined();
  });
});
