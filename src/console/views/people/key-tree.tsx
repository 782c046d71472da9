import { useState } from 'preact/hooks';
import { useResource } from '../../api/resource.ts';
import { Button } from '../../design/button.tsx';
import { KeyState, keyHref } from './marks.tsx';
import { type KeyAnswer, keyName } from './words.ts';

/** A key makes at most 100 that live at once. */
const CHILDREN = 100;

/** The keys that a key has made, and theirs when they are opened. */
export function KeyTree({ of: key }: { readonly of: KeyAnswer }) {
  const children = useResource('/admin/keys', { parent: key.id, limit: CHILDREN });
  if (!children.data || children.data.data.length === 0) return null;
  return (
    <section class="stack-tight">
      <h3>Keys that it has made</h3>
      <Branch rows={children.data.data} hasMore={children.data.has_more} />
    </section>
  );
}

const Branch = ({ rows, hasMore }: { readonly rows: readonly KeyAnswer[]; readonly hasMore: boolean }) => (
  <ul class="people-tree">
    {rows.map((row) => (
      <Twig key={row.id} of={row} />
    ))}
    {hasMore && <li class="dim">The first {CHILDREN} are shown.</li>}
  </ul>
);

/** A key of the tree. Only those that may make keys have any below them. */
function Twig({ of: key }: { readonly of: KeyAnswer }) {
  const [isOpen, setOpen] = useState(false);
  const mayHaveMore = key.scopes.includes('delegate');
  const below = useResource('/admin/keys', { parent: key.id, limit: CHILDREN }, { isWanted: isOpen });
  return (
    <li>
      <div class="row">
        <a href={keyHref(key.id)}>{keyName(key)}</a>
        <KeyState state={key.state} />
        {mayHaveMore && (
          <Button
            kind="plain"
            aria-expanded={isOpen}
            aria-label={`${isOpen ? 'Hide' : 'Show'} its keys: ${keyName(key)}`}
            onClick={() => setOpen(!isOpen)}
          >
            {isOpen ? 'Hide its keys' : 'Show its keys'}
          </Button>
        )}
      </div>
      {isOpen &&
        below.data &&
        (below.data.data.length === 0 ? (
          <p class="small dim">This key has made no keys.</p>
        ) : (
          <Branch rows={below.data.data} hasMore={below.data.has_more} />
        ))}
    </li>
  );
}
