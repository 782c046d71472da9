import { pushedBundle } from '../../runtime/pushed.ts';
import type { OpenStore } from '../../store/driver.ts';
import { liveInstances } from '../../store/instance-reports.ts';
import type { PushedPolicy } from '../../store/pushed-policies.ts';
import { revisionSource } from './desk.ts';
import type { PushTarget } from './push.ts';
import type { JudgeTools, PolicySource } from './tools.ts';

/** The servers, the revisions that they keep, and the tools that judge one. */
interface ServedPolicies {
  readonly store: Pick<OpenStore, 'instanceReports' | 'records'>;
  readonly isServed: PushTarget['isServed'];
  readonly judge: JudgeTools;
}

/**
 * The policy that is active at the servers: the last push, or before the first push the files of a running server, as its database keeps
 * them. Null if no server runs. Rejects with StoreError.
 * @param folder of relative plugins
 */
export async function activePolicy(
  head: PushedPolicy | null,
  { store, isServed, judge }: ServedPolicies,
  folder: string,
): Promise<PolicySource | null> {
  if (head) {
    // The code of its plugins is compared where servers load them.
    const { files, hash } = pushedBundle(head);
    return { label: `push ${head.id}`, kind: 'revision', bundle: { files, hash }, folder, loader: judge.loader };
  }
  const [server] = (await isServed()) ? await liveInstances(store) : [];
  const revision = server ? await store.records.revisions.find(server.revision) : null;
  return revision && revisionSource(revision, folder, judge);
}
