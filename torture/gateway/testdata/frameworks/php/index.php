<?php
// Orders behind a front controller. Each one is a line in the file that ORDERS names.
$path ??= preg_replace('#^/index\.php#', '', rawurldecode((string) parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH)));
$method = $_SERVER['REQUEST_METHOD'];
if ($method === 'POST') { // as Symfony does, which replaces no other method
    $method = strtoupper($_SERVER['HTTP_X_HTTP_METHOD_OVERRIDE'] ?? $_REQUEST['_method'] ?? $method);
}
switch ($method . ' /' . trim($path, '/')) {
    case 'GET /':
        echo 'PHP ' . PHP_VERSION . ' with its own server';
        break;
    case 'POST /free':
        echo 'not an order';
        break;
    case 'POST /orders':
        require 'orders.php';
        break;
    default:
        http_response_code(404);
}
