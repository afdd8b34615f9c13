import { createServer } from 'node:http';

// A process of its own: reads each request's body and answers it with the bytes that it was handed, as plainly as Node can.
let body = Buffer.alloc(0);
const server = createServer((request, response) => {
  request.resume().once('end', () => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
    response.end(body);
  });
});

process.on('message', ({ bytes }: { readonly type: 'serve'; readonly bytes: Uint8Array }) => {
  body = Buffer.from(bytes);
  if (server.listening) process.send?.(portOf());
  else server.listen(0, '127.0.0.1', () => process.send?.(portOf()));
});

function portOf(): number {
  const address = server.address();
  return typeof address === 'object' && address ? address.port : 0;
}
