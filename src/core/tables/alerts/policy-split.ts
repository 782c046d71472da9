import { revisionsIn } from '../../text/revision.ts';
import { plural } from '../../text/text.ts';
import { defineAlert } from './define.ts';
import { afterSeconds } from './keys.ts';
import { lengthOf } from './words.ts';

/** Servers that share one database but run different policies. */
export interface PolicySplit {
  /** When the difference began, ms since 1970. */
  readonly since: number;
  /** The servers. `error`: why the last policy that the server read is not active; null if it is. */
  readonly instances: readonly { readonly name: string; readonly revision: string; readonly error: string | null }[];
}

interface SplitReadings {
  /** The difference is null while all servers run the same policy. */
  readonly split: PolicySplit | null;
}

export const policySplit = defineAlert({
  on: 'policy_split',
  means: 'Servers that share one database run different policies.',
  about: 'servers that share a database and differ in their policies for `after_seconds`',
  often: 'at the beginning and at the end',
  keys: { after_seconds: afterSeconds('seconds in which the servers differed.') },
  read: ({ after_seconds: after }) => ({ afterMs: after * 1_000 }),
  find({ afterMs }, { split }: SplitReadings, found) {
    const { since, instances } = split ?? { since: found.now, instances: [] };
    found.noteLasting(['split'], {
      isDown: split !== null && found.now - since >= afterMs,
      down: splitText(instances, found.now - since),
      up: (ms) => `All servers use the same policy again. The alert was sent ${lengthOf(ms)} ago.`,
      details: { policies: revisionsIn(instances).length, instances: instances.length },
    });
  },
});

function splitText(instances: PolicySplit['instances'], ms: number): string {
  const revisions = revisionsIn(instances).map(
    (one) => `${plural(one.instances, 'server')} ${one.instances === 1 ? 'runs' : 'run'} ${one.revision}`,
  );
  const refusing = instances.find(({ error }) => error !== null);
  const why = refusing ? ` Server ${refusing.name} refused another policy: ${refusing.error}` : '';
  return `The servers have run different policies for ${lengthOf(ms)}: ${revisions.join(', ')}.${why}`;
}
