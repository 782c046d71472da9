import { useState } from 'preact/hooks';
import { useResource } from '../../api/resource.ts';
import { Button } from '../../design/button.tsx';
import { KeyState, keyHref } from './marks.tsx';
import { type KeyAnswer, keyName } from './words.ts';

/** A key can have at most 100 child keys that work at the same time. */
const CHILDREN = 100;

/** The child keys of a key. Each child key in the list opens its own child keys. */
export function KeyTree({ of: key }: { readonly of: KeyAnswer }) {
  const children = useResource('/admin/keys', { parent: key.id, limit: CHILDREN });
  if (!children.data || children.data.data.length === 0) return null;
  return (
    <section class="stack-tight">
      <h3>Child keys</h3>
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

/** A key in the tree. Only keys that may create keys can have child keys. */
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
            aria-label={`${isOpen ? 'Hide' : 'Show'} child keys of ${keyName(key)}`}
            onClick={() => setOpen(!isOpen)}
          >
            {isOpen ? 'Hide its keys' : 'Show its keys'}
          </Button>
        )}
      </div>
      {isOpen &&
        below.data &&
        (below.data.data.length === 0 ? (
          <p class="small dim">This key has no child keys.</p>
        ) : (
          <Branch rows={below.data.data} hasMore={below.data.has_more} />
        ))}
    </li>
  );
}
