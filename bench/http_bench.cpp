// Measures what it costs to read the head of a typical request, the head of a typical answer, and a
// chunked body.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/allocations.h"
#include "http/body_decoder.h"
#include "http/request_parser.h"
#include "http/response_parser.h"
#include "http/write.h"

namespace {

using namespace turnpike::http;

constexpr std::string_view like_curl =
    "POST /predict HTTP/1.1\r\n"
    "Host: localhost:8000\r\n"
    "User-Agent: curl/7.88.1\r\n"
    "Accept: */*\r\n"
    "Content-Type: application/json\r\n"
    "Authorization: Bearer tp_0123456789abcdef0123456789abcdef\r\n"
    "Content-Length: 17\r\n"
    "\r\n";

constexpr std::string_view like_a_browser =
    "GET /v1/images/generations?size=1024x1024&steps=30 HTTP/1.1\r\n"
    "Host: gate.example.com:8000\r\n"
    "Connection: keep-alive\r\n"
    "Cache-Control: max-age=0\r\n"
    "sec-ch-ua: \"Chromium\";v=\"124\", \"Not-A.Brand\";v=\"99\"\r\n"
    "sec-ch-ua-mobile: ?0\r\n"
    "sec-ch-ua-platform: \"Linux\"\r\n"
    "Upgrade-Insecure-Requests: 1\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/124.0.0.0 Safari/537.36\r\n"
    "Accept: "
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n"
    "Sec-Fetch-Site: none\r\n"
    "Sec-Fetch-Mode: navigate\r\n"
    "Sec-Fetch-Dest: document\r\n"
    "Accept-Encoding: gzip, deflate, br\r\n"
    "Accept-Language: en-GB,en;q=0.9,de;q=0.8\r\n"
    "Cookie: session=0123456789abcdef0123456789abcdef; theme=dark\r\n"
    "\r\n";

constexpr std::string_view like_uvicorn =
    "HTTP/1.1 200 OK\r\n"
    "date: Thu, 01 Jan 2026 00:00:00 GMT\r\n"
    "server: uvicorn\r\n"
    "content-length: 11\r\n"
    "content-type: application/json\r\n"
    "\r\n";

void count_allocations(benchmark::State& state, std::uint64_t before) {
    state.counters["allocations"] = static_cast<double>(allocations - before);
}

void request_head(benchmark::State& state, std::string_view raw) {
    RequestParser parser({});
    parser.parse(raw);
    const std::uint64_t before = allocations;
    for (auto _ : state) {
        parser.reset();
        benchmark::DoNotOptimize(parser.parse(raw));
        benchmark::DoNotOptimize(parser.head().fields.data());
    }
    count_allocations(state, before);
}
BENCHMARK_CAPTURE(request_head, like_curl, like_curl);
BENCHMARK_CAPTURE(request_head, like_a_browser, like_a_browser);

void response_head(benchmark::State& state) {
    ResponseParser parser({});
    parser.parse(like_uvicorn, Method::post);
    const std::uint64_t before = allocations;
    for (auto _ : state) {
        parser.reset();
        benchmark::DoNotOptimize(parser.parse(like_uvicorn, Method::post));
    }
    count_allocations(state, before);
}
BENCHMARK(response_head);

void chunked_body(benchmark::State& state) {
    const std::string data(static_cast<std::size_t>(state.range(0)), 'x');
    std::string chunk;
    append_chunk_head(chunk, data.size());
    chunk.append(data).append("\r\n");
    BodyDecoder body(Framing::chunked, 0, {});
    for (auto _ : state)
        for (std::string_view left = chunk; !left.empty();)
            left.remove_prefix(body.next(left).consumed);
}
BENCHMARK(chunked_body)->ArgName("bytes_per_chunk")->Arg(1)->Arg(30)->Arg(16'384);

}  // namespace
