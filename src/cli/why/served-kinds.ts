import type { ServedKind } from "../../authorization/did-you-mean.ts";
import type { RemoteClient } from "../../client/remote.ts";
import { arrayAt, fieldListAt, isFields, isTrueAt, stringAt, stringsAt } from "../../apis/json-fields.ts";
import { parsedJson } from "../../client/replies.ts";

/** A kind in a server's discovery. */
export interface DiscoveredKind extends ServedKind {
  readonly version: string;
  readonly namespaced: boolean;
}

/**
 * All kinds that the server serves, the core group first and then in its own order, preferred versions before others. Undefined where
 * discovery is denied; a group that cannot be read is left out.
 */
export async function servedKinds(client: RemoteClient): Promise<readonly DiscoveredKind[] | undefined> {
  const groups = await read(client, "/apis");
  const core = await kindsAt(client, "/api/v1", { group: "", version: "v1" });
  if (groups === undefined && core === undefined) return undefined;
  const places = fieldListAt(groups, "groups").flatMap((group) => {
    const preferred = stringAt(group, "preferredVersion", "version");
    const versions = fieldListAt(group, "versions").map((version) => stringAt(version, "version"));
    const ordered = [preferred, ...versions.filter((version) => version !== preferred)];
    return ordered.map((version) => ({ group: stringAt(group, "name"), version }));
  });
  const rest = await Promise.all(
    places.map((place) => kindsAt(client, `/apis/${place.group}/${place.version}`, place)),
  );
  return [...(core ?? []), ...rest.flatMap((kinds) => kinds ?? [])];
}

/** The kind that a word of the command line names: `po`, `pods`, `pod`, `deployments.apps` or `deployments.v1.apps`. */
export function kindNamed(kinds: readonly DiscoveredKind[], word: string): DiscoveredKind | undefined {
  const [name = "", ...rest] = word.toLowerCase().split(".");
  const place = rest.join(".");
  const there = kinds.filter(
    ({ group, version }) =>
      place === "" || place === group || place === `${version}.${group}` || place === `${version}.`,
  );
  return (
    there.find(({ plural, singular }) => plural === name || singular === name) ??
    there.find(({ shortNames }) => shortNames.includes(name))
  );
}

async function kindsAt(
  client: RemoteClient,
  path: string,
  { group, version }: { readonly group: string; readonly version: string },
): Promise<readonly DiscoveredKind[] | undefined> {
  const list = await read(client, path);
  if (list === undefined) return undefined;
  const resources = fieldListAt(list, "resources");
  return resources
    .filter((resource) => !stringAt(resource, "name").includes("/"))
    .map((resource) => {
      const plural = stringAt(resource, "name");
      return {
        group,
        version,
        plural,
        singular: stringAt(resource, "singularName") || stringAt(resource, "kind").toLowerCase(),
        shortNames: arrayAt(resource, "shortNames").length === 0 ? [] : stringsAt(resource, "shortNames"),
        namespaced: isTrueAt(resource, "namespaced"),
        subresources: resources
          .map((one) => stringAt(one, "name"))
          .filter((name) => name.startsWith(`${plural}/`))
          .map((name) => name.slice(plural.length + 1)),
      };
    });
}

async function read(client: RemoteClient, path: string): Promise<unknown> {
  const { status, body } = await client.raw("GET", path);
  const value = status === 200 ? parsedJson(body) : undefined;
  return isFields(value) ? value : undefined;
}
