import type { ComponentChildren } from 'preact';
import { useEffect, useErrorBoundary, useRef } from 'preact/hooks';
import { CONSOLE } from '../api/base.ts';
import { failureOf } from '../api/failure.ts';
import { useCode } from '../api/resource.ts';
import { Button } from '../design/button.tsx';
import { Failure, NoPermission, Skeleton } from '../design/states.tsx';
import { Toasts } from '../design/toast.tsx';
import { Coded } from '../design/written.tsx';
import { VIEWS } from '../views.ts';
import { useModelColours } from './models.ts';
import { Rail } from './rail.tsx';
import { AddressError, followLinks, hrefOf, hrefWith, path } from './router.ts';
import { mayView, openSession, session } from './session.ts';
import { SignIn } from './sign-in.tsx';
import { useOpeningRange } from './traffic.ts';
import type { ConsoleView } from './view.ts';
import { ViewHead } from './view-head.tsx';

const viewAbove = (at: string): ConsoleView | null =>
  VIEWS.find((view) => view.path !== '/' && at.startsWith(`${view.path}/`)) ?? null;

function viewAt(at: string): ConsoleView | null {
  const above = viewAbove(at);
  return VIEWS.find((view) => view.path === at) ?? (above?.hasParts ? above : null);
}

/** The frame of all views, or the sign-in page. */
export function Shell() {
  const now = session.value;
  const view = viewAt(path.value);
  useEffect(() => {
    // The view's code loads while the request for the signed-in person runs.
    view?.load().catch(() => {});
    document.addEventListener('click', followLinks);
    return () => document.removeEventListener('click', followLinks);
  }, []);
  useModelColours(now.state === 'in' && mayView('models.list'));
  useEffect(() => {
    const title = now.state === 'out' ? 'Sign in' : (view?.title ?? 'Not found');
    document.title = `${title} · Signalbox`;
  }, [view, now.state]);
  if (now.state === 'out') return <SignIn />;
  return (
    <div class="shell">
      <a class="skip button" href="#content">
        Skip to the content
      </a>
      <Rail view={view} />
      <main class="content" id="content" tabIndex={-1}>
        {now.state === 'loading' ? (
          <Skeleton rows={8} />
        ) : now.state === 'failed' ? (
          <Failure what="The console" failure={now.failure} onRetry={() => void openSession()} />
        ) : (
          <ViewBoundary key={view?.name} view={view}>
            <ViewPlace view={view} />
          </ViewBoundary>
        )}
      </main>
      <Toasts />
    </div>
  );
}

interface ViewProps {
  readonly view: ConsoleView | null;
}

/** Shows a view after its code has loaded. */
function ViewPlace({ view }: ViewProps) {
  const isAllowed = view !== null && mayView(view.action);
  const isReady = useOpeningRange(view, isAllowed);
  const { code, isFailed, retry } = useCode(isAllowed ? view.load : null);
  if (!view) return <NoSuchPage />;
  if (isFailed) {
    const failure = failureOf(
      'unreachable',
      'The code of this view did not load. If Signalbox was upgraded, reload the page.',
    );
    return <Failure what={view.title} failure={failure} onRetry={retry} />;
  }
  if (code && isReady) return <code.default />;
  return (
    <div class="stack">
      <ViewHead title={view.title} summary="" hasRange={false} />
      {isAllowed ? <Skeleton rows={8} /> : <NoPermission what={view.title} who={view.who ?? ''} />}
    </div>
  );
}

/** Shows a view, or an error with a link if the view throws. A new address tries the view again. */
function ViewBoundary({ view, children }: ViewProps & { readonly children: ComponentChildren }) {
  const here = hrefWith({});
  const failedAt = useRef('');
  const [error, reset] = useErrorBoundary(() => {
    failedAt.current = hrefWith({});
  });
  useEffect(() => {
    if (error && failedAt.current !== here) reset();
  }, [error, here]);
  if (!error) return children;
  const isAddress = error instanceof AddressError;
  const message = error instanceof Error ? error.message : String(error);
  const isOverview = view === null || view.path === '/';
  return (
    <div class="state" role="alert">
      <h1>{isAddress ? 'This address cannot be read' : 'This page cannot be shown'}</h1>
      <p>{isAddress ? <Coded text={message} /> : <>The console failed to show the page: {message}</>}</p>
      <p>
        {/* The link has no parameters, because they may cause the error. */}
        <a href={CONSOLE + (isOverview ? '' : view.path)}>Go to {isOverview ? 'the overview' : view.title}</a>
      </p>
      {!isAddress && <Button onClick={reset}>Try again</Button>}
    </div>
  );
}

/** Links to the view whose path the address starts with. */
function NoSuchPage() {
  const near = viewAbove(path.value);
  const isOpen = near !== null && mayView(near.action);
  return (
    <div class="state">
      <h1>No such page</h1>
      <p>
        The console has nothing at {path.value}.{' '}
        {isOpen ? <a href={hrefOf(near.path)}>Go to {near.title}</a> : <a href={hrefOf('/')}>Go to the overview</a>}
      </p>
    </div>
  );
}
