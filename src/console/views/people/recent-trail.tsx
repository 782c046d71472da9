import { When } from '../../design/written.tsx';
import { Related } from '../../kit/related.tsx';
import { hrefOf } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import { actionText } from './trail-words.ts';

/** The newest entries of the audit trail about a key, a person or a team. */
export const RecentTrail = ({ subject }: { readonly subject: string }) =>
  reachOfViewer('trail.read') === null ? null : (
    <Related
      heading="Trail"
      path="/admin/trail"
      query={{ subject, limit: 5 }}
      link={<a href={hrefOf('/people/trail', { subject })}>All entries</a>}
      none={null}
      row={({ id, action, actor, time }) => (
        <>
          <a href={hrefOf(`/people/trail/${id}`, { subject })}>{actionText(action)}</a>
          <span class="dim">
            {actor.name ?? actor.kind} · <When at={time} />
          </span>
        </>
      )}
    />
  );
