import { type FieldError, invalid, required } from "../apimachinery/field-error.ts";
import { dnsSubdomainProblems } from "../apimachinery/names.ts";
import { type Fields, fieldsAt, isFields, stringAt, valueAt } from "./json-fields.ts";
import { fieldErrors } from "./field-rules.ts";

const form = "; desired format: https://host[/path]";

/** A client configuration with the default port of its service; nothing where there is none. */
export function defaultedClientConfig(parent: Fields): Fields {
  const config = valueAt(parent, "clientConfig");
  if (!isFields(config) || !isFields(config["service"])) return {};
  return { clientConfig: { ...config, service: { port: 443, ...config["service"] } } };
}

/** Errors of a client configuration. Source: apiserver pkg/util/webhook validation. */
export function validateClientConfig(config: Fields, path: string): readonly FieldError[] {
  const url = valueAt(config, "url");
  if ((url === undefined) === !isFields(config["service"])) {
    return [required(path, "exactly one of url or service is required")];
  }
  if (url !== undefined) return validateUrl(stringAt(config, "url"), `${path}.url`);
  return validateService(fieldsAt(config, "service"), `${path}.service`);
}

function validateUrl(text: string, path: string): readonly FieldError[] {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return [required(path, `url must be a valid URL: parse ${JSON.stringify(text.slice(0, 256))}${form}`)];
  }
  const user = url.password === "" ? url.username : `${url.username}:xxxxx`;
  return fieldErrors(
    url.protocol !== "https:" &&
      invalid(path, url.protocol.slice(0, -1), `'https' is the only allowed URL scheme${form}`),
    url.host === "" && invalid(path, "", `host must be specified${form}`),
    user !== "" && invalid(path, user, "user information is not permitted in the URL"),
    url.hash !== "" && invalid(path, url.hash.slice(1), "fragments are not permitted in the URL"),
    url.search !== "" && invalid(path, url.search.slice(1), "query parameters are not permitted in the URL"),
  );
}

function validateService(service: Fields, path: string): readonly FieldError[] {
  const port = valueAt(service, "port");
  return fieldErrors(
    ["name", "namespace"]
      .filter((field) => stringAt(service, field) === "")
      .map((field) => required(`${path}.${field}`)),
    typeof port === "number" &&
      (port < 1 || port > 65_535) &&
      invalid(`${path}.port`, port, "port is not valid: must be between 1 and 65535, inclusive"),
    validatePath(stringAt(service, "path"), `${path}.path`),
  );
}

function validatePath(text: string, path: string): readonly FieldError[] {
  if (text === "" || text === "/") return [];
  if (text === "//") return [invalid(path, text, "segment[0] may not be empty")];
  const inner = text.endsWith("/") ? text.slice(1, -1) : text.slice(1);
  return fieldErrors(
    !text.startsWith("/") && invalid(path, text, "must start with a '/'"),
    inner
      .split("/")
      .flatMap((segment, index) =>
        segment === ""
          ? [`segment[${index}] may not be empty`]
          : dnsSubdomainProblems(segment).map((why) => `segment[${index}]: ${why}`),
      )
      .slice(0, 32)
      .map((why) => invalid(path, text, why)),
  );
}
