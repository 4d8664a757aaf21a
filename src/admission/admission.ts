import type { JsonObject } from "../apimachinery/json-value.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import type { RequestSource, Resource } from "../apis/resource.ts";

/** One write, as admission sees it. Source: apiserver pkg/admission Attributes. */
export interface AdmissionRequest {
  /** CONNECT is a request to a kubelet; `object` is then the options of the subresource. */
  readonly operation: "CREATE" | "UPDATE" | "DELETE" | "CONNECT";
  readonly resource: Resource;
  /** `""` for the object itself. */
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** The client sent only generateName; webhooks then get no name. */
  readonly nameIsGenerated?: boolean;
  /** The CreateOptions, UpdateOptions or DeleteOptions of the request. */
  readonly options?: JsonObject;
  /** Absent for DELETE. Prepared, and not yet validated when mutating plugins run. */
  readonly object: ApiObject | undefined;
  /** The stored object; absent for CREATE. */
  readonly oldObject: ApiObject | undefined;
  readonly user: UserInfo;
  /** The authenticated user, where `user` is impersonated and the API records it; Kubernetes does not send it to webhooks. */
  readonly impersonator?: UserInfo | undefined;
  /** The source address of the request, if the API knows it. */
  readonly source?: RequestSource | undefined;
  readonly dryRun: boolean;
  /** Adds a Warning header to the reply. */
  readonly warn: (text: string) => void;
  /** Adds an annotation to the audit event of the request. */
  readonly annotate: (key: string, value: string) => void;
}

/**
 * One pass of a request through the mutating plugins. When a webhook has changed the object, all plugins see it once more, as their
 * results may depend on it. Plugins with state for both passes store it by `request`.
 */
export interface MutationRound {
  readonly number: 0 | 1;
  /** The same object in both rounds of one request, and in no other request. */
  readonly request: object;
  /** Requests a second round; no effect in the second. */
  readonly again: () => void;
}

/** One admission plugin. Its lookups are parameters; it never writes. */
export interface AdmissionPlugin {
  readonly name: string;
  /** Whether the plugin handles writes of this kind; it is not called for others. Absent: all kinds. */
  readonly concerns?: (kind: Pick<Resource, "group" | "plural">) => boolean;
  /** The changed object, or undefined for no change. @throws StatusError to deny. */
  readonly mutate?: (request: AdmissionRequest, round: MutationRound) => Promise<ApiObject | undefined>;
  /** Runs after validation. @throws StatusError to deny. */
  readonly validate?: (request: AdmissionRequest) => Promise<void>;
}

/** All plugins of a hub as one, in order: each mutation sees the result of the one before. */
export interface Admission {
  /** The mutated object: `request.object` itself where nothing changed. */
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

/** An action of a user, besides the admitted request; `*` matches any. */
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

/** Calls the authorizers; `reason` is theirs. */
export type AccessCheck = (access: Access) => Promise<{ readonly allowed: boolean; readonly reason: string }>;

/**
 * Which webhooks or policies are called a second time, by the rule of Kubernetes: those with reinvocationPolicy IfNeeded after which the
 * object changed. Source: apiserver pkg/admission/plugin, the reinvocation contexts of webhooks and policies.
 */
export interface Reinvocation {
  /** Called, with IfNeeded, and the object is unchanged since. */
  readonly candidates: Set<string>;
  readonly repeated: Set<string>;
  /** The object after the last call. */
  last: ApiObject | undefined;
}

/** A state without calls. */
export function newReinvocation(): Reinvocation {
  return { candidates: new Set(), repeated: new Set(), last: undefined };
}

/** The object has changed: call all candidates again. */
export function requireReinvocation({ candidates, repeated }: Reinvocation): void {
  for (const id of candidates) repeated.add(id);
  candidates.clear();
}
