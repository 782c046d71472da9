import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type ApiFailure, isForbidden } from '../api/failure.ts';
import type { Resource } from '../api/resource.ts';
import { Button } from './button.tsx';
import { clockTime } from './format.ts';
import { Coded } from './written.tsx';

/** Nothing yet: what will be here, and the one thing that makes it so. */
export const Empty = ({ title, children }: { readonly title: string; readonly children: ComponentChildren }) => (
  <div class="state">
    <p class="state-title">{title}</p>
    <p>{children}</p>
  </div>
);

/** The place of what is on its way. It is seen after 200 ms. */
export const Skeleton = ({ rows = 4 }: { readonly rows?: number }) => (
  <div class="skeletons" aria-hidden="true">
    {Array.from({ length: rows }, (_, at) => (
      <div key={at} class="skeleton" />
    ))}
  </div>
);

/** What failed, and how to try again; for a role that may not see it, who can grant it. */
export const Failure = ({
  what,
  failure,
  onRetry,
}: {
  /** "Budgets". */
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

/** @param who the roles that it is open to, as a sentence */
export const NoPermission = ({ what, who = '' }: { readonly what: string; readonly who?: string }) => (
  <div class="state">
    <p class="state-title">
      {what} {/(?:s|People)$/.test(what) ? 'are' : 'is'} not open to your role
    </p>
    <p>{who} An owner or admin of this gateway can give you a role that opens this.</p>
  </div>
);

/** Older data that could not be renewed: when they were last true. */
const Stale = ({ what, resource }: { readonly what: string; readonly resource: Resource<unknown> }) => (
  <div class="notice notice-stale" role="status">
    <span>
      {what} could not be renewed{resource.at === null ? '' : ` since ${clockTime(resource.at)}`}:{' '}
      <Coded text={resource.failure?.message ?? ''} />
    </span>
    <Button onClick={resource.renew}>Try again</Button>
  </div>
);

/** Part of what belongs here is missing. */
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

/** Shows what an answer has, with the states around it: loading, failed, not allowed, and older than it should be. */
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

/** Longer than an answer takes; one that hangs holds nothing back. */
const HELD_BACK_MS = 1_000;

/** Holds back what stands below until what stands above has its size, so that nothing jumps. */
export function Below({
  of,
  children,
}: {
  /** What stands above. */
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
