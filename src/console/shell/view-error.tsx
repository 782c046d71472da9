import type { ComponentChildren } from 'preact';
import { useEffect, useErrorBoundary, useRef } from 'preact/hooks';
import { CONSOLE } from '../api/base.ts';
import { Button } from '../design/button.tsx';
import { Coded } from '../design/written.tsx';
import { AddressError, hrefWith } from './router.ts';
import type { ConsoleView } from './view.ts';

/** Shows a view; where the view throws, an error with a way back. Another address tries again. */
export function ViewBoundary({
  view,
  children,
}: {
  readonly view: ConsoleView | null;
  readonly children: ComponentChildren;
}) {
  const here = hrefWith({});
  const failedAt = useRef('');
  const [error, reset] = useErrorBoundary(() => {
    failedAt.current = hrefWith({});
  });
  useEffect(() => {
    if (error && failedAt.current !== here) reset();
  }, [error, here]);
  return error ? <ViewError view={view} error={error} onRetry={reset} /> : children;
}

function ViewError({
  view,
  error,
  onRetry,
}: {
  readonly view: ConsoleView | null;
  readonly error: unknown;
  readonly onRetry: () => void;
}) {
  const isAddress = error instanceof AddressError;
  const message = error instanceof Error ? error.message : String(error);
  // Without the parameters of the address, which may be what is wrong.
  const back = CONSOLE + (view === null || view.path === '/' ? '' : view.path);
  return (
    <div class="state" role="alert">
      <h1>{isAddress ? 'This address cannot be read' : 'This page cannot be shown'}</h1>
      <p>{isAddress ? <Coded text={message} /> : <>The console failed while it drew the page: {message}</>}</p>
      <p>
        <a href={back}>Go to {view === null || view.path === '/' ? 'the overview' : view.title}</a>
      </p>
      {!isAddress && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
}
