import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type ApiFailure, isForbidden } from '../api/failure.ts';
import type { Resource } from '../api/resource.ts';
import { Button } from './button.tsx';
import { clockTime } from './format.ts';
import { Coded } from './written.tsx';

/** The text that an empty list shows: what the list will contain, and the action that creates the first item. */
export const Empty = ({ title, children }: { readonly title: string; readonly children: ComponentChildren }) => (
  <div class="state">
    <p class="state-title">{title}</p>
    <p>{children}</p>
  </div>
);

/** A placeholder for content that is loading. The placeholder becomes visible after 200 ms. */
export const Skeleton = ({ rows = 4 }: { readonly rows?: number }) => (
  <div class="skeletons" aria-hidden="true">
    {Array.from({ length: rows }, (_, at) => (
      <div key={at} class="skeleton" />
    ))}
  </div>
);

/** Says what failed and offers a retry. If the role may not see the data, the message says who can grant access. */
export const Failure = ({
  what,
  failure,
  onRetry,
}: {
  /** A noun: "Budgets". */
  readonly what: string;
  readonly failure: ApiFailure;
  readonly onRetry: () => void;
}) =>
  isForbidden(failure) ? (
    <NoPermission what={what} />
  ) : (
    <div class="state" role="alert">
      <p class="state-title">{failure.status === 404 ? 'Not found' : `${what} cannot be shown`}</p>
      <p>
        <Coded text={failure.message} />
      </p>
      {failure.status !== 404 && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );

/** @param who a sentence that names the roles with access */
export const NoPermission = ({ what, who = '' }: { readonly what: string; readonly who?: string }) => (
  <div class="state">
    <p class="state-title">
      {what} {/(?:s|People)$/.test(what) ? 'are' : 'is'} not available to your role
    </p>
    <p>{who} An owner or admin of this gateway can give you a role with access.</p>
  </div>
);

/** Shows the time since which the data could not be refreshed. */
const Stale = ({ what, resource }: { readonly what: string; readonly resource: Resource<unknown> }) => (
  <div class="notice notice-stale" role="status">
    <span>
      {what} could not be refreshed{resource.at === null ? '' : ` since ${clockTime(resource.at)}`}:{' '}
      <Coded text={resource.failure?.message ?? ''} />
    </span>
    <Button onClick={resource.renew}>Try again</Button>
  </div>
);

/** Says that a part of the content is missing. */
export const Partial = ({ children }: { readonly children: ComponentChildren }) => (
  <div class="notice" role="status">
    <span>{children}</span>
  </div>
);

interface LoadedProps<T> {
  /** A plural noun: "Budgets". */
  readonly what: string;
  readonly of: Resource<T>;
  readonly skeleton?: ComponentChildren;
  readonly children: (data: T) => ComponentChildren;
}

/** Shows the data of a response and its states: loading, failed, not allowed, and stale. */
export function Loaded<T>({ what, of, skeleton, children }: LoadedProps<T>) {
  const { data, failure } = of;
  if (data !== null) {
    return (
      <>
        {failure && <Stale what={what} resource={of} />}
        {children(data)}
      </>
    );
  }
  if (failure) return <Failure what={what} failure={failure} onRetry={of.renew} />;
  return <>{skeleton ?? <Skeleton />}</>;
}

/** A response usually arrives before this time, ms. A response that hangs must not keep the content hidden. */
const HELD_BACK_MS = 1_000;

/** Hides its children until the content above the children has loaded, so that the layout does not jump. */
export function Below({
  of,
  children,
}: {
  /** The responses that the content above needs. */
  readonly of: readonly Pick<Resource<unknown>, 'data' | 'failure'>[];
  readonly children: ComponentChildren;
}) {
  const [isLate, setLate] = useState(false);
  const isShown = useRef(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), HELD_BACK_MS);
    return () => clearTimeout(timer);
  }, []);
  isShown.current ||= isLate || of.every(({ data, failure }) => data !== null || failure !== null);
  return <>{isShown.current ? children : <Skeleton rows={8} />}</>;
}
