/** Whether the host of a URL, in the form that `URL` returns, is this machine. */
export const isLoopbackHost = (hostname: string): boolean =>
  /^(?:(?:[^.]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(hostname);
