import { useResource } from '../../api/resource.ts';
import { When } from '../../design/written.tsx';
import { hrefOf } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import { actionText } from './trail-words.ts';

const SHOWN = 5;

/** The newest entries of the trail about a key, a person or a team. */
export function RecentTrail({ subject }: { readonly subject: string }) {
  const isWanted = reachOfViewer('trail.read') !== null;
  const trail = useResource('/admin/trail', { subject, limit: SHOWN }, { isWanted });
  if (!isWanted || !trail.data || trail.data.data.length === 0) return null;
  return (
    <section class="stack-tight">
      <div class="row row-apart">
        <h3>Trail</h3>
        <a href={hrefOf('/people/trail', { subject })}>All entries</a>
      </div>
      <ul class="people-list">
        {trail.data.data.map((entry) => (
          <li key={entry.id} class="row row-apart">
            <a href={hrefOf(`/people/trail/${entry.id}`, { subject })}>{actionText(entry.action)}</a>
            <span class="dim">
              {entry.actor.name ?? entry.actor.kind} · <When at={entry.time} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
