<?php
// Reads a JSON list of request targets, and prints, for each, the paths that services in PHP may see.
function paths(string $target): array
{
    $parsed = parse_url($target, PHP_URL_PATH);
    // Symfony and Laravel put a host in front, and Slim cuts the query off first.
    $whole = parse_url('http://base.example' . $target, PHP_URL_PATH);
    $plain = explode('?', $target, 2)[0];
    $found = array_filter([$parsed, $whole, $plain], 'is_string');
    return array_values(array_merge($found, array_map('rawurldecode', $found)));
}

echo json_encode(
    array_map('paths', json_decode(stream_get_contents(STDIN), true)),
    JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE,
);
