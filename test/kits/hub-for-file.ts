import { afterAll } from "vitest";
import { apiClient, type ApiClient, type Reply } from "./api-client.ts";
import { startTestHub, type TestHub, type TestHubOptions } from "./hub.ts";

/** The hub of a test file. */
export interface FileHub {
  readonly hub: TestHub;
  /** A client of the admin. */
  readonly api: ApiClient;
  /** Creates an object as the admin. */
  readonly post: (path: string, body: object) => Promise<Reply>;
}

/** Starts a hub that all tests of a file share; it stops after the last of them. To be called at the top of the file. */
export async function hubForFile(options: TestHubOptions = {}): Promise<FileHub> {
  const hub = await startTestHub(options);
  const api = apiClient(hub);
  afterAll(async () => {
    api.close();
    await hub.close();
  });
  return { hub, api, post: (path, body) => api(path, { method: "POST", body }) };
}
