import type { ComponentChildren } from 'preact';
import type { Resource } from '../api/resource.ts';
import { Loaded } from './states.tsx';

interface CardProps {
  /** The `id` of the heading, unique on the page. */
  readonly id: string;
  /** A sentence that contains the answer. */
  readonly heading: ComponentChildren;
  /** The content to the right of the heading: a link, a button or a field. */
  readonly aside?: ComponentChildren;
  readonly children?: ComponentChildren;
}

const Head = ({ id, heading, aside }: CardProps) => (
  <div class="card-head">
    <h2 id={id}>{heading}</h2>
    {aside}
  </div>
);

/** A part of a view, labelled by its heading. */
export const Card = ({ children, ...head }: CardProps) => (
  <section class="card" aria-labelledby={head.id}>
    <Head {...head} />
    {children}
  </section>
);

interface LoadedCardProps<T> extends Pick<CardProps, 'id'> {
  /** A plural noun: "Budgets". */
  readonly what: string;
  readonly of: Resource<T>;
  readonly skeleton?: ComponentChildren;
  readonly heading: (data: T) => ComponentChildren;
  readonly aside?: (data: T) => ComponentChildren;
  readonly children: (data: T) => ComponentChildren;
}

/** A card that shows a response of the API, and its loading and error states. */
export const LoadedCard = <T,>({ id, what, of, skeleton, heading, aside, children }: LoadedCardProps<T>) => (
  <section class="card" aria-labelledby={id}>
    <Loaded what={what} of={of} skeleton={skeleton}>
      {(data) => (
        <>
          <Head id={id} heading={heading(data)} aside={aside?.(data)} />
          {children(data)}
        </>
      )}
    </Loaded>
  </section>
);
