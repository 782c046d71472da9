import type { ComponentChildren } from 'preact';
import type { Query } from '../api/base.ts';
import type { ListedRow, ListPath } from '../api/pages.ts';
import { useResource } from '../api/resource.ts';
import { Loaded } from '../design/states.tsx';

interface RelatedProps<Path extends ListPath> {
  /** A plural noun. */
  readonly heading: string;
  readonly path: Path;
  /** The query with a `limit`, the number of items to show. */
  readonly query: Query;
  /** A link after the heading. */
  readonly link?: ComponentChildren;
  /** The text for an empty list; null hides the section. */
  readonly none: string | null;
  readonly row: (row: ListedRow<Path>) => ComponentChildren;
  /** The last line if the list has more items. */
  readonly more?: ComponentChildren;
}

/**
 * The first items of a list that belong to a detail, each on a line.
 * @example
 * <Related
 *   heading="Valid keys"
 *   path="/admin/keys"
 *   query={{ team: id, state: 'valid', limit: 8 }}
 *   link={<a href={hrefOf('/people/keys', { team: id })}>All keys</a>}
 *   none="None."
 *   row={(key) => <a href={keyHref(key.id)}>{keyName(key)}</a>}
 * />
 */
export function Related<Path extends ListPath>({ heading, path, query, link, none, row, more }: RelatedProps<Path>) {
  const found = useResource(path, query);
  // All paths of `ListPath` return these members.
  const page = found.data as { readonly data: readonly ListedRow<Path>[]; readonly has_more: boolean } | null;
  if (none === null && !page?.data.length) return null;
  return (
    <section class="stack-tight">
      <div class="row row-apart">
        <h3>{heading}</h3>
        {link}
      </div>
      <Loaded what={heading} of={{ ...found, data: page }}>
        {({ data, has_more }) =>
          data.length === 0 ? (
            <p class="dim">{none}</p>
          ) : (
            <ul class="related">
              {data.map((one) => (
                <li key={one.id} class="row row-apart">
                  {row(one)}
                </li>
              ))}
              {has_more && more && <li>{more}</li>}
            </ul>
          )
        }
      </Loaded>
    </section>
  );
}
