import type { JsonObject } from "../apimachinery/json-value.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import type { RequestSource, Resource } from "../apis/resource.ts";

/** One write on its way to the store, as admission sees it. Source: apiserver pkg/admission Attributes. */
export interface AdmissionRequest {
  /** CONNECT is a request to a kubelet; `object` then holds the options of the subresource. */
  readonly operation: "CREATE" | "UPDATE" | "DELETE" | "CONNECT";
  readonly resource: Resource;
  /** `""` for the object itself. */
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** The client gave generateName alone; webhooks are then told no name. */
  readonly nameIsGenerated?: boolean;
  /** The CreateOptions, UpdateOptions or DeleteOptions of the request. */
  readonly options?: JsonObject;
  /** Absent for DELETE. Prepared, and not yet validated when mutating plugins run. */
  readonly object: ApiObject | undefined;
  /** The stored object; absent for CREATE. */
  readonly oldObject: ApiObject | undefined;
  readonly user: UserInfo;
  /** Who was authenticated, where `user` is impersonated and the API says so; Kubernetes tells no webhook. */
  readonly impersonator?: UserInfo | undefined;
  /** Where the request came from, as far as the API saw it. */
  readonly source?: RequestSource | undefined;
  readonly dryRun: boolean;
  /** Adds a Warning header to the reply. */
  readonly warn: (text: string) => void;
  /** Adds an annotation to the audit event of the request. */
  readonly annotate: (key: string, value: string) => void;
}

/**
 * One passage of a request through the mutating plugins. When a webhook has changed the object, all plugins see it once more, as
 * what they did may depend on it. Plugins that remember something between the two keep it by `request`.
 */
export interface MutationRound {
  readonly number: 0 | 1;
  /** The same object in both rounds of one request, and in no other request. */
  readonly request: object;
  /** Asks for a second round; without effect in the second. */
  readonly again: () => void;
}

/** One admission plugin. Whatever it looks up was given to it; it never writes. */
export interface AdmissionPlugin {
  readonly name: string;
  /** Whether writes of this kind may concern the plugin, by the kind alone; it is never asked about others. Absent: all kinds do. */
  readonly concerns?: (kind: Pick<Resource, "group" | "plural">) => boolean;
  /** The object to go on with, or undefined for no change. @throws StatusError to refuse. */
  readonly mutate?: (request: AdmissionRequest, round: MutationRound) => Promise<ApiObject | undefined>;
  /** Runs after validation. @throws StatusError to refuse. */
  readonly validate?: (request: AdmissionRequest) => Promise<void>;
}

/** All plugins of a hub as one, in order: each mutation sees the result of the one before. */
export interface Admission {
  /** The object to go on with: `request.object` itself where nothing changed. */
  mutate(request: AdmissionRequest): Promise<ApiObject | undefined>;
  validate(request: AdmissionRequest): Promise<void>;
}

interface Steps {
  readonly mutators: readonly NonNullable<AdmissionPlugin["mutate"]>[];
  readonly validators: readonly NonNullable<AdmissionPlugin["validate"]>[];
}

/** Joins plugins in the order given. */
export function admissionChain(plugins: readonly AdmissionPlugin[]): Admission {
  const known = new WeakMap<Resource, Steps>();
  const stepsOf = (resource: Resource): Steps => {
    const found = known.get(resource);
    if (found !== undefined) return found;
    const concerned = plugins.filter(({ concerns }) => concerns === undefined || concerns(resource));
    const steps = {
      mutators: concerned.flatMap((plugin) => plugin.mutate ?? []),
      validators: concerned.flatMap((plugin) => plugin.validate ?? []),
    };
    known.set(resource, steps);
    return steps;
  };
  const passed = async (request: AdmissionRequest, round: MutationRound): Promise<ApiObject | undefined> => {
    let current = request;
    for (const mutate of stepsOf(request.resource).mutators) {
      const object = await mutate(current, round);
      if (object !== undefined && object !== current.object) current = { ...current, object };
    }
    return current.object;
  };
  return {
    mutate: async (request) => {
      let isWanted = false;
      const again = (): void => {
        isWanted = true;
      };
      const object = await passed(request, { number: 0, request, again });
      return isWanted ? passed({ ...request, object }, { number: 1, request, again }) : object;
    },
    validate: async (request) => {
      for (const validate of stepsOf(request.resource).validators) await validate(request);
    },
  };
}

/** Something a user wants to do, beside the request that is being admitted; `*` stands for any. */
export interface Access {
  readonly user: UserInfo;
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

/** Asks the authorizers; `reason` is theirs. */
export type AccessCheck = (access: Access) => Promise<{ readonly allowed: boolean; readonly reason: string }>;

/**
 * Which webhooks or policies are called a second time, by the rule of Kubernetes: those with the reinvocationPolicy IfNeeded after which
 * the object changed. Source: apiserver pkg/admission/plugin, the reinvocation contexts of webhooks and policies.
 */
export interface Reinvocation {
  /** Called, with the policy IfNeeded, and nothing has changed since. */
  readonly candidates: Set<string>;
  readonly repeated: Set<string>;
  /** What the object was after the last call. */
  last: ApiObject | undefined;
}

/** Nothing was called yet. */
export function newReinvocation(): Reinvocation {
  return { candidates: new Set(), repeated: new Set(), last: undefined };
}

/** The object has changed: all candidates are called again. */
export function requireReinvocation({ candidates, repeated }: Reinvocation): void {
  for (const id of candidates) repeated.add(id);
  candidates.clear();
}
